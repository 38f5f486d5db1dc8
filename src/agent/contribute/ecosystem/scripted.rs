//! Ruby, PHP, .NET, Elixir, Dart.

use super::{Step, Steps, first};
use crate::agent::contribute::manifest::{Manifests, Project};

pub(super) fn ruby(m: &Manifests, at: &str) -> Option<Project> {
    let gemfile = m.text(at, "Gemfile")?;
    let gem = |name: &str| gemfile.contains(&format!("'{name}'")) || gemfile.contains(&format!("\"{name}\""));
    let framework =
        first(&[("rails", "Rails"), ("sinatra", "Sinatra"), ("hanami", "Hanami"), ("jekyll", "Jekyll")], gem);
    let test = if m.has(at, &[".rspec"]) || m.folder(at, "spec") {
        Step::same("bundle exec rspec")
    } else if framework == "Rails" {
        Step::same("bin/rails test")
    } else if m.has(at, &["Rakefile"]) {
        Step::same("bundle exec rake test")
    } else {
        Step::none()
    };
    let lint = if m.has(at, &[".rubocop.yml"]) || gem("rubocop") {
        Step::same("bundle exec rubocop")
    } else if m.has(at, &[".standard.yml"]) {
        Step::same("bundle exec standardrb")
    } else {
        Step::none()
    };
    let build = if m.ending(at, ".gemspec").is_some() { Step::same("gem build *.gemspec") } else { Step::none() };
    let frozen = if m.has(at, &["Gemfile.lock"]) { "BUNDLE_FROZEN=true bundle install" } else { "bundle install" };
    let install = Step::new("bundle install", frozen);
    Some(Steps { install, lint, build, test, ..Steps::default() }.project(&framework, "bundler"))
}

pub(super) fn composer(m: &Manifests, at: &str) -> Option<Project> {
    let file = m.json(at, "composer.json")?;
    let script = |name: &str| file.get("scripts").is_some_and(|all| all.get(name).is_some());
    let requires = |name: &str| {
        ["require", "require-dev"]
            .iter()
            .filter_map(|kind| file.get(kind)?.as_object())
            .any(|all| all.keys().any(|k| k == name))
    };
    let framework = first(
        &[
            ("laravel/framework", "Laravel"),
            ("symfony/framework-bundle", "Symfony"),
            ("slim/slim", "Slim"),
            ("cakephp/cakephp", "CakePHP"),
            ("yiisoft/yii2", "Yii"),
        ],
        requires,
    );
    let test = if script("test") {
        Step::same("composer test")
    } else if m.has(at, &["artisan"]) {
        Step::same("php artisan test")
    } else if m.has(at, &["phpunit.xml", "phpunit.xml.dist"]) || requires("phpunit/phpunit") {
        Step::same("vendor/bin/phpunit")
    } else {
        Step::none()
    };
    let fixer = m.has(at, &[".php-cs-fixer.php", ".php-cs-fixer.dist.php"]);
    let lint = if script("lint") {
        Step::same("composer lint")
    } else if m.has(at, &["phpstan.neon", "phpstan.neon.dist"]) {
        Step::same("vendor/bin/phpstan analyse")
    } else if fixer {
        Step::told("vendor/bin/php-cs-fixer fix --dry-run")
    } else if m.has(at, &["phpcs.xml", "phpcs.xml.dist"]) {
        Step::same("vendor/bin/phpcs")
    } else {
        Step::none()
    };
    let (format, reformat) = if m.has(at, &["pint.json"]) {
        (Step::line("vendor/bin/pint --test"), "vendor/bin/pint")
    } else {
        (Step::line("vendor/bin/php-cs-fixer fix --dry-run").run_if(fixer), "vendor/bin/php-cs-fixer fix")
    };
    let install = "composer install --no-interaction --no-progress --no-scripts --no-plugins";
    let steps = Steps {
        install: Step::new("composer install", install),
        format,
        reformat: Step::line(reformat),
        lint,
        build: if script("build") { Step::same("composer build") } else { Step::none() },
        test,
    };
    Some(steps.project(&framework, "composer"))
}

pub(super) fn dotnet(m: &Manifests, at: &str) -> Option<Project> {
    let project_file = m.ending(at, ".csproj").or_else(|| m.ending(at, ".fsproj"));
    let solution = m.ending(at, ".sln").or_else(|| m.ending(at, ".slnx"));
    project_file.or(solution)?;
    let web = project_file.and_then(|name| m.text(at, name)).is_some_and(|text| text.contains("Sdk.Web"));
    let locked = if m.has(at, &["packages.lock.json"]) { " --locked-mode" } else { "" };
    let verify = "dotnet format --verify-no-changes";
    let formatted = m.has(at, &[".editorconfig"]) || m.has("", &[".editorconfig"]) || m.shows(&["dotnet format"]);
    let steps = Steps {
        install: Step::new("dotnet restore", &format!("dotnet restore{locked}")),
        format: Step::line(&format!("{verify} --no-restore")).run_if(formatted),
        reformat: Step::line("dotnet format --no-restore"),
        lint: Step::told(verify),
        build: Step::new("dotnet build", "dotnet build --no-restore"),
        test: Step::new("dotnet test", "dotnet test --no-restore"),
    };
    let mut found = steps.project(if web { "ASP.NET Core" } else { ".NET" }, "nuget");
    found.monorepo = false;
    // A solution speaks for the projects below it.
    found.covers = solution.is_some();
    Some(found)
}

pub(super) fn mix(m: &Manifests, at: &str) -> Option<Project> {
    let text = m.text(at, "mix.exs")?;
    let framework = first(&[(":phoenix,", "Phoenix"), (":nerves,", "Nerves")], |name| text.contains(name));
    let credo = text.contains(":credo");
    let locked = if m.has(at, &["mix.lock"]) { " --check-locked" } else { "" };
    let verify = "mix format --check-formatted";
    let steps = Steps {
        install: Step::new("mix deps.get", &format!("mix deps.get{locked}")),
        format: Step::line(verify).run_if(m.has(at, &[".formatter.exs"])),
        reformat: Step::line("mix format"),
        lint: if credo { Step::same("mix credo") } else { Step::told(verify) },
        build: Step::new("mix compile", "mix compile --no-deps-check"),
        test: Step::new("mix test", "mix test --no-deps-check"),
    };
    let mut found = steps.project(&framework, "mix");
    found.monorepo = text.contains("apps_path:");
    Some(found)
}

pub(super) fn dart(m: &Manifests, at: &str) -> Option<Project> {
    let text = m.text(at, "pubspec.yaml")?;
    let locked = if m.has(at, &["pubspec.lock"]) { " --enforce-lockfile" } else { "" };
    let linted = m.has(at, &["analysis_options.yaml"]);
    let format = "dart format --output=none --set-exit-if-changed .";
    let format = || Step::line(format).run_if(m.shows(&["dart format", "flutter format", "dartfmt"]));
    Some(if text.contains("sdk: flutter") {
        let steps = Steps {
            install: Step::new("flutter pub get", &format!("flutter pub get{locked}")),
            format: format(),
            reformat: Step::line("dart format ."),
            lint: Step::new("flutter analyze", "flutter analyze --no-pub").run_if(linted),
            // Which of its targets can be built here nobody knows.
            build: Step::told("flutter build"),
            test: Step::new("flutter test", "flutter test --no-pub").run_if(text.contains("flutter_test:")),
        };
        steps.project("Flutter", "pub")
    } else {
        let steps = Steps {
            install: Step::new("dart pub get", &format!("dart pub get{locked}")),
            format: format(),
            reformat: Step::line("dart format ."),
            lint: Step::same("dart analyze").run_if(linted),
            build: Step::none(),
            test: Step::same("dart test").run_if(text.contains(" test:")),
        };
        steps.project("", "pub")
    })
}
