//! HTTP routes of many frameworks, and the OpenAPI document that is made of them.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::document;

/// The rules of OpenAPI 3.1 that a document of ours could break.
#[track_caller]
pub fn valid(api: &Value) {
    let mut faults = Vec::new();
    assert_eq!(api["openapi"], "3.1.0");
    assert!(api["info"]["title"].is_string() && api["info"]["version"].is_string(), "{}", api["info"]);
    let (mut ids, mut shapes) = (HashSet::new(), HashSet::new());
    for (path, item) in api["paths"].as_object().expect("paths") {
        if !path.starts_with('/') || path.contains(['?', '#']) {
            faults.push(format!("{path}: no path"));
        }
        let parts: Vec<&str> = path.split(['{', '}']).collect();
        let in_path: Vec<&str> = parts.iter().skip(1).step_by(2).copied().collect();
        let shape: Vec<&str> = parts.iter().step_by(2).copied().collect();
        if !shapes.insert(shape.join("{}")) {
            faults.push(format!("{path}: another template is the same but for names"));
        }
        let declared: Vec<&str> =
            item["parameters"].as_array().into_iter().flatten().map(|p| p["name"].as_str().unwrap()).collect();
        if declared != in_path || in_path.iter().collect::<BTreeSet<_>>().len() != in_path.len() {
            faults.push(format!("{path}: {declared:?} are declared"));
        }
        for parameter in item["parameters"].as_array().into_iter().flatten() {
            let kind = parameter["schema"]["type"].as_str().unwrap_or_default();
            if parameter["in"] != "path"
                || parameter["required"] != true
                || !["string", "integer", "number", "boolean"].contains(&kind)
            {
                faults.push(format!("{path}: {parameter}"));
            }
        }
        for (key, operation) in item.as_object().unwrap() {
            match key.as_str() {
                "parameters" => {}
                "description" | "summary" => assert!(operation.is_string()),
                "get" | "put" | "post" | "delete" | "options" | "head" | "patch" | "trace" => {
                    let id = operation["operationId"].as_str().unwrap_or_default();
                    if id.is_empty() || !ids.insert(id.to_owned()) {
                        faults.push(format!("{key} {path}: operationId `{id}`"));
                    }
                    let responses = operation["responses"].as_object();
                    if !responses
                        .is_some_and(|all| !all.is_empty() && all.values().all(|one| one["description"].is_string()))
                    {
                        faults.push(format!("{key} {path}: responses"));
                    }
                }
                other => faults.push(format!("{path}: `{other}`")),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// `get /users/{id:integer}`, sorted; `any` where the methods are not stated.
#[track_caller]
fn check(files: &[(&str, &str)], want: &[&str]) -> Value {
    let map = document(files);
    let Some(yaml) = map.get("swagger.yaml") else {
        assert!(want.is_empty(), "no routes were found in {:?}", files.iter().map(|f| f.0).collect::<Vec<_>>());
        return Value::Null;
    };
    let api: Value = serde_saphyr::from_str(yaml).unwrap();
    valid(&api);
    let mut found = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        let mut shown = path.clone();
        for parameter in item["parameters"].as_array().into_iter().flatten() {
            let (name, kind) = (parameter["name"].as_str().unwrap(), parameter["schema"]["type"].as_str().unwrap());
            shown = shown.replace(&format!("{{{name}}}"), &format!("{{{name}:{kind}}}"));
        }
        let methods =
            item.as_object().unwrap().keys().filter(|key| !["parameters", "description"].contains(&key.as_str()));
        found.extend(methods.map(|method| format!("{method} {shown}")));
        if item.get("description").is_some() {
            found.push(format!("any {shown}"));
        }
    }
    found.sort();
    assert_eq!(found, want, "{yaml}");
    api
}

#[test]
fn s0_6_flask_and_its_blueprints() {
    let api = check(
        &[
            (
                "shop/app.py",
                "from flask import Flask\nfrom shop.users import bp\napp = Flask(__name__)\napp.register_blueprint(bp, url_prefix='/api')\n\n\
                 @app.route('/')\ndef home():\n    \"\"\"The front page.\n\n    Long.\n    \"\"\"\n    return ''\n\n\
                 @app.route(\"/items/<int:item_id>\", methods=[\"GET\", \"DELETE\"])\ndef item(item_id):\n    return ''\n\n\
                 app.add_url_rule('/late', view_func=home, methods=['POST'])\n",
            ),
            (
                "shop/users.py",
                "from flask import Blueprint\nbp = Blueprint('users', __name__, url_prefix='/users')\n\n@bp.get('/<uuid:id>')\ndef one(id):\n    return ''\n",
            ),
            ("tests/test_app.py", "@app.route('/only-in-tests')\ndef t(): pass\n"),
            ("shop/other.py", "from unittest import mock\n\n@mock.patch('shop.app')\ndef x(): pass\n"),
        ],
        &[
            "delete /items/{item_id:integer}",
            "get /",
            "get /api/{id:string}",
            "get /items/{item_id:integer}",
            "post /late",
        ],
    );
    assert_eq!(api["paths"]["/"]["get"]["summary"], "The front page.");
    assert_eq!(api["paths"]["/api/{id}"]["parameters"][0]["schema"]["format"], "uuid");
    let ids = [&api["paths"]["/items/{item_id}"]["get"], &api["paths"]["/items/{item_id}"]["delete"]];
    assert_ne!(ids[0]["operationId"], ids[1]["operationId"]);
}

#[test]
fn s0_6_fastapi_and_its_routers_across_files() {
    check(
        &[
            (
                "app/main.py",
                "from fastapi import FastAPI\nfrom app.routers import users\napp = FastAPI()\napp.include_router(users.router, prefix='/v1')\n\n\
                 @app.get('/files/{file_path:path}')\nasync def read(file_path: str):\n    return 1\n",
            ),
            ("app/routers/__init__.py", ""),
            (
                "app/routers/users.py",
                "from fastapi import APIRouter\nrouter = APIRouter(prefix='/users')\n\n@router.get('')\nasync def all_of():\n    return 1\n\n\
                 @router.patch('/{user_id}')\nasync def change(user_id: int, q: str = ''):\n    return 1\n",
            ),
        ],
        &["get /files/{file_path:string}", "get /v1/users", "patch /v1/users/{user_id:integer}"],
    );
}

#[test]
fn s0_6_djangos_tables() {
    check(
        &[
            (
                "site/urls.py",
                "from django.urls import include, path, re_path\nfrom site import views\nurlpatterns = [\n    path('books/', include('books.urls')),\n\
                 \x20   re_path(r'^archive/(?P<year>[0-9]{4})/$', views.archive),\n]\n",
            ),
            ("site/views.py", "def archive(request, year):\n    return year\n"),
            (
                "books/urls.py",
                "from django.urls import path\nfrom . import views\nfrom .views import BookView, listing\nurlpatterns = [\n    path('', listing),\n    path('<slug:slug>/<int:pk>/', BookView.as_view(), name='book'),\n]\n",
            ),
            (
                "books/views.py",
                "class BookView:\n    def get(self, request): pass\n    def post(self, request): pass\n",
            ),
        ],
        &["any /archive/{year:string}/", "any /books", "any /books/{slug:string}/{pk:integer}/"],
    );
    check(
        &[(
            "one/urls.py",
            "from django.urls import path\n\n@require_http_methods(['GET', 'POST'])\ndef form(request): pass\n\nclass V(View):\n    def delete(self, request): pass\n\nurlpatterns = [path('form/', form), path('v/<int:id>', V.as_view())]\n",
        )],
        &["delete /v/{id:integer}", "get /form/", "post /form/"],
    );
}

#[test]
fn s0_6_express_and_its_routers_across_files() {
    check(
        &[
            (
                "server.js",
                "import express from 'express';\nimport users from './routes/users.js';\nconst app = express();\nconst admin = express.Router();\n\
                 admin.post('/keys', auth, makeKey);\napp.use('/admin', admin);\napp.use('/users', users);\n\
                 app.route('/both').get(a).post(b);\napp.all('/any', h);\napp.get('setting');\naxios.get('/elsewhere', cb);\ncache.get('/x', y);\n",
            ),
            (
                "routes/users.js",
                "import { Router } from 'express';\nconst router = Router();\nrouter.get('/:id(\\\\d+)', (req, res) => res.end());\nexport default router;\n",
            ),
        ],
        &["any /any", "get /both", "get /users/{id:string}", "post /admin/keys", "post /both"],
    );
}

#[test]
fn s0_6_fastify_and_koa() {
    check(
        &[
            (
                "app.ts",
                "import Fastify from 'fastify';\nimport items from './items';\nconst server = Fastify();\nserver.register(items, { prefix: '/items' });\n\
                 server.route({ method: ['GET', 'HEAD'], url: '/ping', handler: ping });\n",
            ),
            (
                "items.ts",
                "export default async function routes(fastify, options) {\n  fastify.get('/:itemId', async (request) => 1);\n}\n",
            ),
        ],
        &["get /items/{itemId:string}", "get /ping", "head /ping"],
    );
    check(
        &[(
            "koa.js",
            "const Router = require('@koa/router');\nconst router = new Router({ prefix: '/api' });\nrouter.get('user', '/users/:id', show).del('/users/:id', drop);\napp.use(router.routes());\n",
        )],
        &["delete /api/users/{id:string}", "get /api/users/{id:string}"],
    );
}

#[test]
fn s0_6_axum_nested_and_merged() {
    check(
        &[
            (
                "src/main.rs",
                "mod users;\nuse axum::{Router, routing::get};\nfn app() -> Router {\n    let admin = Router::new().route(\"/keys/{id}\", get(key));\n\
                 \x20   Router::new()\n        .route(\"/health\", axum::routing::any(health))\n        .nest(\"/admin\", admin)\n        .nest(\"/users\", users::router())\n}\n\
                 async fn key(Path(id): Path<u64>) {}\n",
            ),
            (
                "src/users.rs",
                "pub fn router() -> Router {\n    Router::new().route(\"/\", get(list).post(make)).route(\"/{a}/{b}\", get(two))\n}\n/// Every user.\nasync fn list() {}\n\
                 async fn two(Path((a, b)): Path<(String, i64)>) {}\n",
            ),
        ],
        &[
            "any /health",
            "get /admin/keys/{id:integer}",
            "get /users",
            "get /users/{a:string}/{b:integer}",
            "post /users",
        ],
    );
}

#[test]
fn s0_6_routers_made_by_functions_of_the_same_file() {
    check(
        &[(
            "src/main.rs",
            "fn app() -> Router { Router::new().nest(\"/v1\", users()).merge(other()) }\nfn users() -> Router { Router::new().route(\"/users\", get(list)) }\nfn other() -> Router { let r = Router::new().route(\"/other\", get(list)); r }\n",
        )],
        &["get /other", "get /v1/users"],
    );
}

#[test]
fn s0_6_actix_and_rocket() {
    check(
        &[(
            "src/main.rs",
            "#[get(\"/show/{id}\")]\nasync fn show(path: web::Path<u32>) -> String { todo!() }\nfn main() {\n    App::new().service(\n        web::scope(\"/api\")\n            .service(show)\n            .route(\"/ping\", web::get().to(ping))\n            .service(web::resource(\"/r\").route(web::post().to(r))),\n    );\n}\n",
        )],
        &["get /api/ping", "get /api/show/{id:integer}", "post /api/r"],
    );
    check(
        &[(
            "src/main.rs",
            "/// Says hello.\n#[get(\"/hello/<name>/<age>?<loud>\")]\nfn hello(name: &str, age: u8, loud: bool) -> String { todo!() }\n#[launch]\nfn rocket() -> _ { rocket::build().mount(\"/v2\", routes![hello]) }\n",
        )],
        &["get /v2/hello/{name:string}/{age:integer}"],
    );
}

#[test]
fn s0_6_net_http_gin_echo_and_chi() {
    check(
        &[(
            "main.go",
            "package main\nimport \"net/http\"\nfunc main() {\n\thttp.HandleFunc(\"/old\", old)\n\tmux := http.NewServeMux()\n\tmux.HandleFunc(\"GET /items/{id}\", item)\n\tmux.HandleFunc(\"POST example.com/files/{path...}\", put)\n\tresp, _ := http.Get(\"/not-a-route\")\n}\n\n// old is kept for old clients.\nfunc old(w http.ResponseWriter, r *http.Request) {}\n",
        )],
        &["any /old", "get /items/{id:string}", "post /files/{path:string}"],
    );
    check(
        &[(
            "gin.go",
            "package main\nimport \"github.com/gin-gonic/gin\"\nfunc main() {\n\tr := gin.Default()\n\tv1 := r.Group(\"/v1\")\n\tv1.GET(\"/users/:id\", show)\n\tadmin := v1.Group(\"/admin\")\n\tregister(admin)\n\tr.Any(\"/all\", all)\n}\nfunc register(g *gin.RouterGroup) {\n\tg.POST(\"/keys\", make)\n}\n",
        )],
        &["any /all", "get /v1/users/{id:string}", "post /v1/admin/keys"],
    );
    check(
        &[(
            "echo.go",
            "package main\nimport \"github.com/labstack/echo/v4\"\nfunc one() {\n\te := echo.New()\n\tg := e.Group(\"/a\")\n\tg.PUT(\"/x\", h)\n}\nfunc two() {\n\te := echo.New()\n\tg := e.Group(\"/b\")\n\tg.DELETE(\"/x\", h)\n}\n",
        )],
        &["delete /b/x", "put /a/x"],
    );
    check(
        &[(
            "chi.go",
            "package main\nimport \"github.com/go-chi/chi/v5\"\nfunc main() {\n\tr := chi.NewRouter()\n\tr.Route(\"/articles\", func(r chi.Router) {\n\t\tr.Get(\"/\", list)\n\t\tr.Route(\"/{id:[0-9]+}\", func(r chi.Router) {\n\t\t\tr.Delete(\"/\", drop)\n\t\t})\n\t})\n}\n",
        )],
        &["delete /articles/{id:string}", "get /articles"],
    );
}

#[test]
fn s0_6_spring_and_jax_rs() {
    check(
        &[(
            "src/main/java/a/Users.java",
            "package a;\n@RestController\n@RequestMapping(\"/api/users\")\npublic class Users {\n  /** One user. */\n  @GetMapping(\"/{id}\")\n  public User one(@PathVariable Long id) { return null; }\n  @RequestMapping(value = {\"/a\", \"/b\"}, method = {RequestMethod.PUT, RequestMethod.POST})\n  public void both() {}\n  @PostMapping\n  public void make() {}\n}\n",
        )],
        &[
            "get /api/users/{id:integer}",
            "post /api/users",
            "post /api/users/a",
            "post /api/users/b",
            "put /api/users/a",
            "put /api/users/b",
        ],
    );
    check(
        &[(
            "src/main/java/a/Books.java",
            "package a;\n@Path(\"books\")\npublic class Books {\n  @GET\n  @Path(\"{isbn: [0-9]+}/pages/{page}\")\n  public String page(@PathParam(\"isbn\") String isbn, @PathParam(\"page\") int page) { return null; }\n  @DELETE\n  public void clear() {}\n}\n",
        )],
        &["delete /books", "get /books/{isbn:string}/pages/{page:integer}"],
    );
}

#[test]
fn s0_6_templates_that_differ_in_names_alone_are_one_path() {
    let api = check(
        &[(
            "a.py",
            "from fastapi import FastAPI\napp = FastAPI()\n\n@app.get('/u/{id}')\ndef one(id: str): pass\n\n@app.put('/u/{user_id}')\ndef two(user_id: int): pass\n",
        )],
        &["get /u/{id:integer}", "put /u/{id:integer}"],
    );
    assert_eq!(api["paths"].as_object().unwrap().len(), 1);
    check(&[("a.py", "def f(): pass\n"), ("b.js", "export const x = 1;\n")], &[]);
}
