//! An error with all that led to it.

use std::error::Error;

/// The whole chain in one line: the message, then each source that the text so far does not end with.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Told(&'static str, Option<Box<Told>>);

    impl std::fmt::Display for Told {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Told {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn a_source_that_its_error_has_told_is_not_told_twice() {
        let root = Told("no route", None);
        let middle = Told("cannot connect: no route", Some(Box::new(root)));
        assert_eq!(chain(&Told("GitHub is away", Some(Box::new(middle)))), "GitHub is away: cannot connect: no route");
    }
}
