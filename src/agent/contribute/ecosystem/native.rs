//! C and C++, Haskell.

use super::{Step, Steps, listing};
use crate::agent::contribute::manifest::{Manifests, Project};

pub(super) fn haskell(m: &Manifests, at: &str) -> Option<Project> {
    let lint = || if m.has(at, &[".hlint.yaml"]) { Step::same("hlint .") } else { Step::none() };
    if m.has(at, &["stack.yaml"]) {
        let steps = Steps {
            install: Step::new("stack setup", "stack build --test --only-dependencies"),
            lint: lint(),
            build: Step::same("stack build"),
            test: Step::same("stack test"),
            ..Steps::default()
        };
        return Some(steps.project("", "stack"));
    }
    m.ending(at, ".cabal")?;
    let steps = Steps {
        install: Step::new("cabal update", "cabal update && cabal build all --only-dependencies --enable-tests"),
        lint: lint(),
        build: Step::new("cabal build", "cabal build --offline all"),
        test: Step::new("cabal test", "cabal test --offline all"),
        ..Steps::default()
    };
    Some(steps.project("", "cabal"))
}

pub(super) fn native(m: &Manifests, at: &str) -> Option<Project> {
    let sources = ["*.c", "*.h", "*.cc", "*.cpp", "*.cxx", "*.hpp", "*.hh"];
    let formatted = m.has(at, &[".clang-format"]) && m.shows(&["clang-format"]);
    let format = || Step::line(&listing(&sources, "clang-format --dry-run -Werror")).run_if(formatted);
    let reformat = || Step::line(&listing(&sources, "clang-format -i"));
    let tidy = m.has(at, &[".clang-tidy"]);
    let lint = || if tidy { Step::same("run-clang-tidy -p build") } else { Step::none() };
    let qt = |text: &str| if text.contains("Qt5") || text.contains("Qt6") { "Qt" } else { "" };
    if let Some(text) = m.text(at, "CMakeLists.txt") {
        let tested = text.contains("enable_testing") || text.contains("CTest");
        let configure = if tidy { "cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON" } else { "cmake -B build" };
        let steps = Steps {
            // To configure is to fetch, where the project fetches at all.
            install: Step::new("cmake -B build", configure),
            format: format(),
            reformat: reformat(),
            lint: lint(),
            build: Step::same("cmake --build build"),
            test: Step::new("ctest --test-dir build", "ctest --test-dir build --output-on-failure").run_if(tested),
        };
        return Some(steps.project(qt(text), "cmake"));
    }
    if let Some(text) = m.text(at, "meson.build") {
        let steps = Steps {
            install: Step::same("meson setup build"),
            format: format(),
            reformat: reformat(),
            lint: lint(),
            build: Step::same("meson compile -C build"),
            test: Step::same("meson test -C build").run_if(text.contains("test(") || text.contains("subdir(")),
        };
        return Some(steps.project("", "meson"));
    }
    m.has(at, &["configure.ac", "configure"]).then(|| {
        let made = m.has(at, &["configure"]);
        let configure = if made { "./configure" } else { "autoreconf -i && ./configure" };
        let steps = Steps {
            install: Step::new("./configure", configure),
            format: format(),
            reformat: reformat(),
            lint: lint(),
            build: Step::same("make"),
            test: Step::same("make check"),
        };
        steps.project("", "autotools")
    })
}
