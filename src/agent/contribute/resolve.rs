//! Which file an import means, among those of the repository. What is not there belongs to others.

use std::collections::{BTreeMap, BTreeSet};

use super::packages::{PackageKind, Packages};
use super::survey::{Class, Survey, name};
use crate::analysis::{Import, Language};
use crate::stdx::path::{join, normal};

/// Folders that absolute imports of Python may begin in.
const MAX_ROOTS: usize = 64;
/// Files that one import may mean, for those that take a whole folder.
const MAX_MEANT: usize = 50;
const WEB: &[&str] = &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "d.ts", "vue", "svelte", "json"];

pub(super) struct Resolver<'s> {
    survey: &'s Survey,
    packages: &'s Packages,
    python_roots: Vec<String>,
    /// Sources of Go and Java by their folder.
    folders: BTreeMap<&'s str, Vec<&'s str>>,
}

impl<'s> Resolver<'s> {
    pub(super) fn new(survey: &'s Survey, packages: &'s Packages) -> Self {
        let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut roots: BTreeSet<String> = ["", "lib", "python", "src"].map(str::to_owned).into();
        for file in survey.files.iter().filter(|file| file.class != Class::Foreign) {
            match Language::of_path(&file.path) {
                Some(Language::Go | Language::Java) => folders.entry(folder(&file.path)).or_default().push(&file.path),
                Some(Language::Python) if name(&file.path) == "__init__.py" => {
                    let above = folder(folder(&file.path));
                    if !survey.has(&join(above, "__init__.py")) && roots.len() < MAX_ROOTS {
                        roots.insert(above.to_owned());
                    }
                }
                _ => {}
            }
        }
        Self { survey, packages, python_roots: roots.into_iter().collect(), folders }
    }

    /// The files that an import of a file means; none of them the file itself.
    pub(super) fn files(&self, from: &str, import: &Import) -> Vec<&'s str> {
        let mut found = match Language::of_path(from) {
            Some(Language::Python) => self.python(from, import),
            Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
                self.web(from, &import.from).into_iter().collect()
            }
            Some(Language::Go) => self.go(&import.from),
            Some(Language::Java) => self.java(&import.from),
            Some(Language::Rust) => self.rust(from, import).into_iter().collect(),
            None => Vec::new(),
        };
        found.retain(|path| *path != from);
        found
    }

    /// The first of these that is a file.
    fn first(&self, paths: impl IntoIterator<Item = String>) -> Option<&'s str> {
        paths.into_iter().find_map(|path| self.survey.get(&path)).map(|file| file.path.as_str())
    }

    fn python(&self, from: &str, import: &Import) -> Vec<&'s str> {
        let module = |base: &str| {
            let inside = [join(base, "__init__.py"), join(base, "__init__.pyi")];
            let plain = [format!("{base}.py"), format!("{base}.pyi")];
            self.first(plain.into_iter().filter(|_| !base.is_empty()).chain(inside))
        };
        let below = |base: &str| -> Vec<&'s str> {
            let names: Vec<Option<&str>> = import.members.iter().map(|name| module(&join(base, name))).collect();
            let whole = (names.is_empty() || names.iter().any(Option::is_none)).then(|| module(base)).flatten();
            whole.into_iter().chain(names.into_iter().flatten()).collect()
        };
        let bare = import.from.trim_start_matches('.');
        let path = bare.replace('.', "/");
        let dots = import.from.len() - bare.len();
        if dots > 0 {
            let base = (1..dots).fold(folder(from), |at, _| folder(at));
            return below(&join(base, &path));
        }
        let own = folder(from).to_owned();
        for root in self.python_roots.iter().chain([&own]) {
            let found = below(&join(root, &path));
            if !found.is_empty() {
                return found;
            }
        }
        // `import a.b.c` may name what `a/b.py` defines.
        let above = path.rsplit_once('/').map(|(above, _)| above).filter(|_| import.members.is_empty());
        above
            .and_then(|above| self.python_roots.iter().find_map(|root| module(&join(root, above))))
            .into_iter()
            .collect()
    }

    fn web(&self, from: &str, target: &str) -> Option<&'s str> {
        let target = target.split(['?', '#']).next().unwrap_or_default();
        if target.starts_with('.') {
            return self.probe(&normal(&join(folder(from), target))?);
        }
        if let Some(rest) = target.strip_prefix("@/").or_else(|| target.strip_prefix("~/")) {
            // By custom the sources of the nearest package.
            let mut at = folder(from);
            loop {
                let found = [join(at, "src"), at.to_owned()].iter().find_map(|root| self.probe(&join(root, rest)));
                if found.is_some() || at.is_empty() {
                    return found;
                }
                at = folder(at);
            }
        }
        let of_package =
            self.packages.own.iter().filter(|package| package.kind == PackageKind::Node).find_map(|package| {
                let rest = target.strip_prefix(package.name.as_str())?;
                match rest.strip_prefix('/') {
                    Some(rest) => {
                        let roots = [package.folder.clone(), join(&package.folder, "src")];
                        roots.iter().find_map(|root| self.probe(&join(root, rest)))
                    }
                    None if rest.is_empty() => {
                        let roots =
                            [join(&package.folder, "src"), package.folder.clone(), join(&package.folder, "lib")];
                        roots.iter().find_map(|root| self.probe(&join(root, "index")))
                    }
                    None => None,
                }
            });
        of_package.or_else(|| {
            // A base of the repository's own: a path that begins with one of its folders.
            target.contains('/').then(|| ["", "src"].iter().find_map(|root| self.probe(&join(root, target)))).flatten()
        })
    }

    fn probe(&self, base: &str) -> Option<&'s str> {
        // TypeScript is imported under the name that it will have.
        let bare = [".js", ".jsx", ".mjs", ".cjs"].iter().find_map(|end| base.strip_suffix(end));
        let swapped = bare.into_iter().flat_map(|bare| ["ts", "tsx", "mts", "cts"].map(|end| format!("{bare}.{end}")));
        let ended = WEB.iter().map(|end| format!("{base}.{end}"));
        let index = WEB.iter().map(|end| format!("{}.{end}", join(base, "index")));
        self.first(std::iter::once(base.to_owned()).chain(swapped).chain(ended).chain(index))
    }

    fn go(&self, target: &str) -> Vec<&'s str> {
        let modules = self.packages.own.iter().filter(|package| package.kind == PackageKind::Go);
        let inside = modules.filter_map(|module| {
            let rest = target.strip_prefix(module.name.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (module, rest.trim_start_matches('/')))
        });
        let Some((module, rest)) = inside.max_by_key(|(module, _)| module.name.len()) else { return Vec::new() };
        let files = self.folders.get(join(&module.folder, rest).as_str()).into_iter().flatten();
        files.filter(|path| path.ends_with(".go") && !path.ends_with("_test.go")).take(1).copied().collect()
    }

    fn java(&self, target: &str) -> Vec<&'s str> {
        let ends =
            |path: &str, wanted: &str| path.strip_suffix(wanted).is_some_and(|r| r.is_empty() || r.ends_with('/'));
        if let Some(package) = target.strip_suffix(".*") {
            let wanted = package.replace('.', "/");
            let own = self.folders.iter().filter(|(folder, _)| ends(folder, &wanted)).flat_map(|(_, files)| files);
            let own: Vec<&str> = own.filter(|path| path.ends_with(".java")).take(MAX_MEANT).copied().collect();
            if !own.is_empty() {
                return own;
            }
        }
        // All members of a class are taken from the class.
        let mut at = target.trim_end_matches(".*");
        // A class within a class lies in the outer one's file.
        for _ in 0..3 {
            let wanted = format!("{}.java", at.replace('.', "/"));
            if let Some(path) = self.survey.named(name(&wanted)).into_iter().find(|path| ends(path, &wanted)) {
                return vec![path];
            }
            let Some((above, _)) = at.rsplit_once('.') else { break };
            at = above;
        }
        Vec::new()
    }

    fn rust(&self, from: &str, import: &Import) -> Option<&'s str> {
        if import.part {
            let inside = join(&module_folder(from), import.from.trim_start_matches("self::"));
            return self.first([format!("{inside}.rs"), join(&inside, "mod.rs")]);
        }
        let mut parts = import.from.split("::").filter(|part| !part.is_empty()).peekable();
        let mut at = match *parts.peek()? {
            "crate" => {
                parts.next();
                self.crate_root(from)
            }
            "self" => {
                parts.next();
                module_folder(from)
            }
            "super" => {
                let mut at = module_folder(from);
                while parts.next_if(|part| *part == "super").is_some() {
                    at = folder(&at).to_owned();
                }
                at
            }
            first => {
                let own = self.packages.own.iter().filter(|package| package.kind == PackageKind::Cargo);
                match own.into_iter().find(|package| package.name.replace('-', "_") == first) {
                    Some(package) => {
                        parts.next();
                        join(&package.folder, "src")
                    }
                    // Since 2018 a path may begin with a module of the same file.
                    None => {
                        let at = module_folder(from);
                        self.rust_module(&join(&at, first))?;
                        at
                    }
                }
            }
        };
        let mut found = None;
        for part in parts {
            let inner = join(&at, part);
            let Some(module) = self.rust_module(&inner) else { break };
            found = Some(module);
            at = inner;
        }
        found.or_else(|| {
            let roots = ["lib.rs", "main.rs", "mod.rs"].map(|root| join(&at, root));
            self.first(roots.into_iter().chain((!at.is_empty()).then(|| format!("{at}.rs"))))
        })
    }

    fn rust_module(&self, base: &str) -> Option<&'s str> {
        self.first([format!("{base}.rs"), join(base, "mod.rs")])
    }

    /// The folder of the crate's root: the nearest one above with `lib.rs` or `main.rs`.
    fn crate_root(&self, from: &str) -> String {
        let mut at = folder(from);
        loop {
            if self.survey.has(&join(at, "lib.rs")) || self.survey.has(&join(at, "main.rs")) {
                return at.to_owned();
            }
            if at.is_empty() {
                return folder(from).to_owned();
            }
            at = folder(at);
        }
    }
}

/// Where the modules of a file of Rust lie.
fn module_folder(path: &str) -> String {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    match name(stem) {
        "mod" | "lib" | "main" => folder(path).to_owned(),
        _ => stem.to_owned(),
    }
}

pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::super::packages::Package;
    use super::*;

    #[track_caller]
    fn check(files: &[&str], from: &str, target: &str, members: &[&str], want: &[&str]) {
        let survey = Survey::new(files.iter().chain([&from]).map(|path| (*path).to_owned()).collect());
        let own = |kind, name: &str, folder: &str| Package { kind, name: name.to_owned(), folder: folder.to_owned() };
        let packages = Packages {
            own: vec![
                own(PackageKind::Go, "example.com/shop", ""),
                own(PackageKind::Node, "@shop/ui", "packages/ui"),
                own(PackageKind::Cargo, "shop-core", "core"),
            ],
            ..Packages::default()
        };
        let members = members.iter().map(|name| (*name).to_owned()).collect();
        let import = Import { from: target.to_owned(), members, ..Import::default() };
        assert_eq!(Resolver::new(&survey, &packages).files(from, &import), want, "{from}: {target}");
    }

    #[test]
    fn an_import_finds_its_file() {
        let python = ["shop/__init__.py", "shop/cart.py", "shop/api/__init__.py", "shop/api/views.py"];
        check(&python, "tests/test_a.py", "shop.cart", &["Cart"], &["shop/cart.py"]);
        check(&python, "shop/api/urls.py", ".", &["views"], &["shop/api/views.py"]);
        check(&python, "shop/api/urls.py", "..cart", &["Cart"], &["shop/cart.py"]);
        check(&python, "a.py", "shop.api", &["views", "VERSION"], &["shop/api/__init__.py", "shop/api/views.py"]);
        check(&python, "a.py", "os.path", &[], &[]);
        check(&["src/pkg/__init__.py", "src/pkg/x.py"], "src/pkg/y.py", "pkg.x", &[], &["src/pkg/x.py"]);

        let web = ["src/cart.ts", "src/lib/index.tsx", "packages/ui/src/index.ts", "packages/ui/src/button.ts"];
        check(&web, "src/app/main.ts", "../cart", &[], &["src/cart.ts"]);
        check(&web, "src/app/main.ts", "../cart.js", &[], &["src/cart.ts"]);
        check(&web, "src/main.ts", "./lib", &[], &["src/lib/index.tsx"]);
        check(&web, "src/app/main.ts", "@/cart", &[], &["src/cart.ts"]);
        check(&web, "src/main.ts", "@shop/ui", &[], &["packages/ui/src/index.ts"]);
        check(&web, "src/main.ts", "@shop/ui/button", &[], &["packages/ui/src/button.ts"]);
        check(&web, "src/main.ts", "react", &[], &[]);
        check(&web, "src/main.ts", "../../../x", &[], &[]);

        let go = ["cart/cart.go", "cart/cart_test.go", "cart/total.go"];
        check(&go, "main.go", "example.com/shop/cart", &[], &["cart/cart.go"]);
        check(&go, "main.go", "example.com/shopping/cart", &[], &[]);

        let java = ["src/main/java/shop/Cart.java", "src/main/java/shop/Item.java"];
        check(&java, "src/main/java/api/Api.java", "shop.Cart", &[], &["src/main/java/shop/Cart.java"]);
        check(&java, "src/main/java/api/Api.java", "shop.Cart.Line", &[], &["src/main/java/shop/Cart.java"]);
        check(&java, "src/main/java/api/Api.java", "shop.*", &[], &java);
        check(&java, "src/main/java/api/Api.java", "shop.Cart.*", &[], &java[..1]);
        check(&java, "src/main/java/api/Api.java", "java.util.List", &[], &[]);

        let rust =
            ["src/lib.rs", "src/cart.rs", "src/cart/line.rs", "src/api/mod.rs", "core/src/lib.rs", "core/src/tax.rs"];
        check(&rust, "src/api/http.rs", "crate::cart::line::Line", &[], &["src/cart/line.rs"]);
        check(&rust, "src/api/http.rs", "super::Route", &[], &["src/api/mod.rs"]);
        check(&rust, "src/api/http.rs", "crate::Error", &[], &["src/lib.rs"]);
        check(&rust, "src/main.rs", "cart::Cart", &[], &["src/cart.rs"]);
        check(&rust, "src/cart.rs", "self::line::Line", &[], &["src/cart/line.rs"]);
        check(&rust, "src/cart.rs", "shop_core::tax::rate", &[], &["core/src/tax.rs"]);
        check(&rust, "src/cart.rs", "serde::Serialize", &[], &[]);
        check(&rust, "src/cart/line.rs", "self::*", &[], &[]);
    }
}
