//! What words say about a report: whether somebody wants a repair, or is content, or wants the old way back.

use std::sync::LazyLock;

use regex::Regex;

pub(super) static PRAISE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b((is|are|was|were|be|seems?|looks?) (just |perfectly |totally |absolutely |quite |still |actually |completely )?(fine|ok|okay|safe|correct|right|legit|good|harmless|needed|necessary|required|wanted|intended|useful|helpful|better|faster|allowed|supported)|which works|works (fine|well|great|as expected)|keep\b|kept|faster than|better than|preferred?|trusted|we (need|rely on|depend on|want)|relies on|depends on|one may|you may|you can|used to work|handy|i like|is wanted|on purpose|worked (before|fine|well)|work(s|ed)? again|too strict)\b",
    )
});
pub(super) static BLAME: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(break(s|ing)?|broken?|fail(s|ed|ing)?|crash(es|ed)?|slow(s|er)?|worse|regression|error|exception|can(no|['’])?t|cannot|unable|does ?n['’]?t|do ?n['’]?t|did ?n['’]?t|not work|no longer|any ?more|wrong(ly)?|problem|overkill|hangs?|deadlocks?|missing|instead of returning|too strict|raises?|throws?)\b",
    )
});

/// What somebody wants to have used.
pub(super) static BACK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(could|can|please|should|must|let['’]?s|would|want to|like to|back to|return to|again)\b[^.!?]{0,30}?\b(use|call|have|to)\s+`?(?P<what>[\w.]+)",
    )
});

#[expect(clippy::expect_used, reason = "literal patterns; the tests of this room compile them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

pub(super) static WANTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?im)\b(please|pls|(can|could) (you|we|someone|somebody|anyone|anybody|it)|let['’]?s|should|must|ha(s|ve) to|needs? to|need)\b[^.!?\n]{0,60}?\b(fix|correct|repair|removed?|replaced?|changed?|use|switch|moved?|turn|convert(ed)?|call|go for|wrap(ped)?|bound|bind|unlock|drop(ped)?|get rid|compared?)\b|(^|[.!?]\s+)(fix|remove|replace|use|repair|correct|drop|switch|change|convert|stop using|get rid of)\b",
    )
});
/// What somebody expects.
pub(super) static EXPECTED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(should|must|ought to|ha(s|ve) to|needs? to)\b"));
/// Said of something that is not settled, or not to be.
pub(super) static DOUBTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(not|never|if|whether|why|when|unless|maybe|perhaps|might|could|would|although|but|said|says|new code|in (the )?future|eventually|then)\b|n['’]t\b",
    )
});
/// Said of a rule: its findings are known, or it is the rule that is at fault.
pub(super) static WAIVED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(ignored|accepted|waived|suppressed|muted|by policy|exempt\w*|(allow|white)-?listed|baseline\w*|until \d{4}|(may|can|should|must) stay|(is|are) (fine|ok|okay|intended|wanted|harmless)|switch(ed)? (it |this )?off|turn(ed)? (it |this )?off|off by default|disabled?|silence\w*|annoying|misfires?|wrongly|by mistake|misses|crash\w*|does ?n['’]?o?t apply|docs?|documentation|severity)\b",
    )
});
pub(super) static LEFT_OVER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(left ?-?overs?|left (in|behind|there)|forgotten|forgot|by (accident|mistake)|accidentally|obviously|was ?n['’]t meant|typo)\b",
    )
});
pub(super) static CAUSE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(i \W?(think|guess|believe|suspect)\W?|because|that['’]s why|due to|caused by|culprit|the reason|turns out|so|handed to)\b",
    )
});
pub(super) static TESTS: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\btests?\b"));
