/** What one check found. */
export class Tally {
  passed = 0;
  failures = [];
  notes = [];

  /** One thing held, or did not. */
  that(holds, otherwise) {
    if (holds) this.passed += 1;
    else this.fail(otherwise);
  }

  /** One thing was judged; every problem is a failure. */
  judged(problems) {
    if (problems.length === 0) this.passed += 1;
    else for (const problem of problems) this.fail(problem);
  }

  /** Something was broken on purpose, and the judgement has to notice. */
  notices(what, problems) {
    this.that(problems.length > 0, `self-test: ${what} went unnoticed`);
  }

  fail(what) {
    this.failures.push(what);
  }

  note(text) {
    this.notes.push(text);
  }
}
