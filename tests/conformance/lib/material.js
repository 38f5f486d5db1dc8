// What several checks look at, made once a run.

import { Description } from "./openapi.js";
import * as record from "./record.js";

export const description = (t) => t.once("description", () => new Description());
export const table = (t) => t.once("table", () => record.table(t.folder));
export const story = (t) => t.once("story", () => record.story(t.folder));
// These work with a box through the real client, and none of them sends anything wrong on purpose.
export const tests = (t) => t.once("tests", () => record.tests(t.folder, ["github::boxed::", "publish::", "reconcile::", "contribute::", "doctor::", "setup::", "flow::a_thread_longer_than_a_page_is_read_to_its_last_comment"]));
