//! Maven and Gradle.

use super::{Step, Steps, first};
use crate::agent::contribute::manifest::{Manifests, Project};

const FRAMEWORKS: &[(&str, &str)] = &[
    ("spring-boot", "Spring Boot"),
    ("springframework.boot", "Spring Boot"),
    ("quarkus", "Quarkus"),
    ("micronaut", "Micronaut"),
    ("ktor", "Ktor"),
    ("com.android", "Android"),
    ("dropwizard", "Dropwizard"),
    ("vertx", "Vert.x"),
    ("springframework", "Spring"),
    ("jakarta", "Jakarta EE"),
];

pub(super) fn maven(m: &Manifests, at: &str) -> Option<Project> {
    let text = m.text(at, "pom.xml")?;
    let mvn = if m.has(at, &["mvnw"]) { "./mvnw" } else { "mvn" };
    let spotless = text.contains("spotless");
    let checkstyle = text.contains("checkstyle");
    let quiet = format!("{mvn} -o -q -B");
    let steps = Steps {
        install: Step::new(&format!("{mvn} -B install -DskipTests"), &format!("{mvn} -q -B dependency:go-offline")),
        format: Step::line(&format!("{quiet} spotless:check")).run_if(spotless),
        reformat: Step::line(&format!("{quiet} spotless:apply")),
        lint: match (spotless, checkstyle) {
            (true, false) => Step::told(&format!("{mvn} -B spotless:check")),
            (true, true) => Step::new(&format!("{mvn} -B spotless:check"), &format!("{quiet} checkstyle:check")),
            (false, true) => Step::new(&format!("{mvn} -B checkstyle:check"), &format!("{quiet} checkstyle:check")),
            (false, false) => Step::none(),
        },
        build: Step::new(&format!("{mvn} -B package -DskipTests"), &format!("{quiet} package -DskipTests")),
        // Not quiet: Surefire's totals are told at the level that -q leaves out.
        test: Step::new(&format!("{mvn} -B test"), &format!("{mvn} -o -B -fae test")),
    };
    let mut found = steps.project(&first(FRAMEWORKS, |name| text.contains(name)), "maven");
    found.monorepo = text.contains("<modules>");
    Some(found)
}

pub(super) fn gradle(m: &Manifests, at: &str) -> Option<Project> {
    let files = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
    files.iter().find(|name| m.has(at, &[name]))?;
    let texts: String = files.iter().filter_map(|name| m.text(at, name)).collect::<Vec<_>>().join("\n");
    let gradle = if m.has(at, &["gradlew"]) { "./gradlew" } else { "gradle" };
    let told = |task: &str| format!("{gradle} {task}");
    let offline = |task: &str| format!("{gradle} --offline --no-daemon --console=plain {task}");
    let linters = ["checkstyle", "detekt", "ktlint", "pmd", "spotbugs"].iter().any(|plugin| texts.contains(plugin));
    let steps = Steps {
        install: Step::new(&told("dependencies"), &format!("{gradle} --no-daemon --console=plain testClasses")),
        format: Step::line(&offline("spotlessCheck")).run_if(texts.contains("spotless")),
        reformat: Step::line(&offline("spotlessApply")),
        lint: Step::new(&told("check -x test"), &offline("check -x test")).run_if(linters),
        build: Step::new(&told("assemble"), &offline("assemble")),
        test: Step::new(&told("test"), &offline("test --continue")),
    };
    let mut found = steps.project(&first(FRAMEWORKS, |name| texts.contains(name)), "gradle");
    found.monorepo = texts.lines().any(|line| line.trim_start().starts_with("include"));
    Some(found)
}
