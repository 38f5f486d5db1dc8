use super::*;

const NOW: i64 = 1_795_255_200_000; // 2026-11-21T10:00:00Z
const LONG: &str = "The totals of a month are shown without the separators that every other page has. It would help to have \
                    them there as well, so that large sums can be read at a glance.";

fn issue(number: u64, title: &str, body: &str) -> Listed {
    Listed {
        number,
        url: format!("https://github.com/o/r/issues/{number}"),
        title: Untrusted::new(title),
        body: Untrusted::new(body),
        labels: Vec::new(),
        created_at: "2026-11-01T10:00:00Z".to_owned(),
        comments: 0,
        assignees: Vec::new(),
        open: true,
        is_pull: false,
        locked: Some(false),
        linked: None,
    }
}

fn plain(number: u64) -> Listed {
    issue(number, "Show the totals with separators", LONG)
}

fn ranking(issues: Vec<Listed>, labels: &[&str]) -> Vec<Ranked> {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    rank(&Engine::embedded().unwrap(), issues, &labels, NOW)
}

fn repository() -> RepositoryFacts {
    RepositoryFacts {
        owner: "o".to_owned(),
        name: "r".to_owned(),
        url: "https://github.com/o/r".to_owned(),
        default_branch: "main".to_owned(),
        language: Some("Python".to_owned()),
        stars: 7,
        license: Some("MIT".to_owned()),
        work_tree: None,
    }
}

/// One property of an issue, what it is left out for, and whether it is.
#[test]
fn s2b_each_criterion_leaves_out_what_fails_it_and_nothing_else() {
    type Change = fn(&mut Listed);
    let cases: &[(Option<&str>, Change)] = &[
        (None, |_| {}),
        (Some("pull-request"), |i| i.is_pull = true),
        (Some("closed"), |i| i.open = false),
        (Some("locked"), |i| i.locked = Some(true)),
        (None, |i| i.locked = None),
        (Some("excluded-label"), |i| i.labels = vec!["wontfix".to_owned()]),
        (Some("excluded-label"), |i| i.labels = vec!["status: blocked".to_owned()]),
        (None, |i| i.labels = vec!["good first issue".to_owned()]),
        (Some("assigned"), |i| i.assignees = vec!["ada".to_owned()]),
        (None, |i| i.comments = 5),
        (Some("discussed"), |i| i.comments = 6),
        (None, |i| i.created_at = "2026-11-20T10:00:00Z".to_owned()),
        (Some("young"), |i| i.created_at = "2026-11-20T10:00:01Z".to_owned()),
        (None, |i| i.created_at = "2026-09-22T10:00:00Z".to_owned()),
        (Some("old"), |i| i.created_at = "2026-09-21T10:00:00Z".to_owned()),
        (Some("undated"), |i| i.created_at = "long ago".to_owned()),
        (None, |i| i.body = Untrusted::new("ä".repeat(100))),
        (Some("short"), |i| i.body = Untrusted::new(format!("  {}  ", "ä".repeat(99)))),
        (None, |i| i.body = Untrusted::new("ä".repeat(5_000))),
        (Some("long"), |i| i.body = Untrusted::new("ä".repeat(5_001))),
        (Some("avoided"), |i| i.title = Untrusted::new("Breaking change: totals without separators")),
        (Some("avoided"), |i| i.title = Untrusted::new("Authentication fails behind a proxy")),
        (Some("avoided"), |i| i.title = Untrusted::new("An API change for totals")),
        (None, |i| i.linked = Some(Vec::new())),
        (Some("already-addressed"), |i| {
            let pull = LinkedPull { number: 9, url: "u".to_owned(), author: "eve".to_owned(), ours: false };
            i.linked = Some(vec![pull]);
        }),
    ];
    for (nth, (want, change)) in cases.iter().enumerate() {
        let mut one = plain(3);
        change(&mut one);
        let ranked = ranking(vec![one], &[]);
        let codes: Vec<&str> = ranked[0].obstacles.iter().map(|o| o.code).filter(|code| *code != "score").collect();
        assert_eq!(codes, want.iter().copied().collect::<Vec<_>>(), "case {nth}");
    }
}

#[test]
fn s2b_below_the_lowest_score_nothing_is_taken_up() {
    let mut one = issue(3, "Should the totals be complex?", LONG);
    one.labels = vec!["epic".to_owned()];
    let ranked = ranking(vec![one], &[]);
    assert!(ranked[0].score < 60, "{:?}", ranked[0].points);
    assert_eq!(ranked[0].obstacles.iter().map(|o| o.code).collect::<Vec<_>>(), ["score"]);
}

#[test]
fn every_point_of_a_score_has_its_reason() {
    for one in ranking(vec![plain(1), issue(2, "Typo in README", LONG)], &[]) {
        let sum: i32 = one.points.iter().map(|point| point.by).sum();
        assert_eq!(i64::from(one.score), i64::from((60 + sum).clamp(0, 100)));
        assert!(one.points.iter().all(|point| !point.why.is_empty()));
    }
}

#[test]
fn what_a_mechanic_carries_out_comes_first_whatever_else_scores() {
    let mut welcome = plain(1);
    welcome.labels = vec!["good first issue".to_owned(), "enhancement".to_owned()];
    let mechanical = issue(2, "A word is misspelt", "Please replace `recieve` with `receive` in `src/mail.py`.");
    let ranked = ranking(vec![welcome, mechanical], &[]);
    assert_eq!(ranked.iter().map(|one| one.issue.number).collect::<Vec<_>>(), [2, 1]);
    assert_eq!((ranked[0].chance, ranked[1].chance), (Chance::Good, Chance::None));
    assert!(ranked[0].is_eligible(), "short, and all understood: {:?}", ranked[0].obstacles);
    assert!(ranked[0].plan.as_deref().unwrap().contains("recieve"), "{:?}", ranked[0].plan);
}

#[test]
fn a_described_defect_counts_where_a_rule_knows_it() {
    let body = "We use `yaml.load` on files that users upload. Somebody could smuggle in Python objects that way.\n\
                Please switch every place to the safe loader.\n";
    let ranked = ranking(vec![plain(1), issue(2, "Loading settings can run code", body)], &[]);
    assert_eq!((ranked[0].issue.number, ranked[0].chance), (2, Chance::Good));
    assert!(ranked[0].plan.as_deref().unwrap().contains("yaml"), "the rule is named: {:?}", ranked[0].plan);
}

#[test]
fn equals_are_taken_by_age_and_only_once() {
    let mut older = plain(5);
    older.created_at = "2026-10-20T10:00:00Z".to_owned();
    let ranked = ranking(vec![plain(4), plain(3), older, plain(3)], &[]);
    assert_eq!(ranked.iter().map(|one| one.issue.number).collect::<Vec<_>>(), [5, 3, 4]);
}

#[test]
fn only_issues_with_a_wanted_label_count_and_case_does_not() {
    let mut wanted = plain(1);
    wanted.labels = vec!["Help Wanted".to_owned()];
    let ranked = ranking(vec![plain(2), wanted], &["help wanted", "easy"]);
    let eligible = |one: &Ranked| one.is_eligible();
    assert_eq!(ranked.iter().map(|one| (one.issue.number, eligible(one))).collect::<Vec<_>>(), [(1, true), (2, false)]);
}

#[test]
fn s2_11_the_document_has_the_best_issue_the_next_ones_and_true_numbers() {
    let mut assigned = plain(7);
    assigned.assignees = vec!["ada".to_owned()];
    let best = issue(2, "A word is misspelt", "Please replace `recieve` with `receive` in `src/mail.py`.");
    let ranked = ranking(vec![plain(5), assigned, best], &[]);
    let document = document(&ranked, &repository(), "2026-11-21T10:00:00Z".to_owned(), 50);
    let found = document.outcome.unwrap();
    assert_eq!(found.selected_issue.url, "https://github.com/o/r/issues/2");
    assert_eq!((found.selected_issue.repository.stars, found.selected_issue.kind), (7, Kind::Documentation));
    assert_eq!(found.search_stats, SearchStats { total_searched: 3, filtered_out: 1, candidates_found: 2 });
    let reasons: Vec<&str> = found.alternatives.iter().map(|a| a.reason_not_selected.as_str()).collect();
    assert!(reasons[0].starts_with("a mechanic can do less about it; score"), "{}", reasons[0]);
    assert_eq!(reasons[1], "not eligible: ada works on it");
}

#[test]
fn s2_26_when_nothing_may_be_taken_up_the_document_failed_and_says_why() {
    let mut assigned = plain(7);
    assigned.assignees = vec!["ada".to_owned()];
    let nothing = document(&ranking(vec![assigned], &[]), &repository(), "t".to_owned(), 50).outcome.unwrap_err();
    let told: Vec<(&str, &str)> = nothing.iter().map(|e| (e.code.as_str(), e.message.as_str())).collect();
    assert_eq!(
        told,
        [
            ("nothing-eligible", "of 1 issue none may be taken up"),
            ("assigned", "1 issue, for instance #7: ada works on it"),
        ]
    );
    let empty = document(&[], &repository(), "t".to_owned(), 50).outcome.unwrap_err();
    assert_eq!(empty[0].code, "no-issues");
}

#[test]
fn what_is_learned_later_moves_an_issue_down() {
    let mut ranked = ranking(vec![plain(1), plain(2)], &[]);
    assert_eq!(ranked[0].issue.number, 1);
    let pull = LinkedPull { number: 9, url: "u".to_owned(), author: "eve".to_owned(), ours: false };
    learned(&mut ranked, 1, vec![pull]);
    assert_eq!((ranked[0].issue.number, ranked[1].is_eligible()), (2, false));
    assert_eq!(swept(&ranked, 1).obstacles, ["pull request #9 by eve addresses it"]);
    assert_eq!(swept(&ranked, 8).obstacles.len(), 1, "gone from the list");
}

#[test]
fn nothing_in_a_strangers_text_steers_a_terminal_or_shows_a_secret() {
    let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let body = format!("Replace `{token}` with `x\u{1b}[31m` in `a.py`.");
    let ranked = ranking(vec![issue(1, "A\u{1b}[2Jword\u{202e} is wrong", &body)], &[]);
    let shown = format!("{} {:?}", ranked[0].title, ranked[0].plan);
    assert!(!shown.contains(&token) && !shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
}
