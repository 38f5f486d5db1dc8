//! The documents that the contributing agents hand to each other. Names and values are wire format (S2.11 to S2.17).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::Content;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Documentation,
    BugFix,
    Feature,
    Test,
    Refactor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Difficulty {
    Trivial,
    Easy,
    Medium,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    Low,
    Medium,
    High,
}

/// The scout's `current-issue.json` (S2.11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentIssue {
    pub selected_issue: SelectedIssue,
    pub alternatives: Vec<Alternative>,
    pub search_stats: SearchStats,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelectedIssue {
    pub url: String,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub repository: IssueRepository,
    pub comments_count: u64,
    pub created_at: String,
    pub difficulty_estimate: Difficulty,
    #[serde(rename = "type")]
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueRepository {
    pub owner: String,
    pub name: String,
    pub url: String,
    pub language: String,
    pub stars: u64,
    pub license: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    pub url: String,
    pub title: String,
    pub reason_not_selected: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchStats {
    pub total_searched: u64,
    pub filtered_out: u64,
    pub candidates_found: u64,
}

/// The analyst's `issue-analysis.json` (S2.12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueAnalysis {
    pub issue_url: String,
    pub analysis: Analysis,
    pub repository_context: RepositoryContext,
    pub implementation_plan: ImplementationPlan,
    pub warnings: Vec<String>,
    pub blockers: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    pub summary: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub complexity: Difficulty,
    pub estimated_loc_change: u64,
    pub breaking_change: bool,
    pub requirements: Vec<String>,
    pub files_to_modify: Vec<FileToModify>,
    pub tests_required: bool,
    pub docs_update_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileToModify {
    pub path: String,
    pub change_type: ChangeType,
    pub description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeType {
    Create,
    Edit,
    Delete,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryContext {
    pub contributing_guidelines: String,
    pub pr_template_exists: bool,
    pub code_style: String,
    pub branch_naming: String,
    pub commit_convention: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImplementationPlan {
    pub steps: Vec<String>,
    pub estimated_time: String,
    pub risk_level: Risk,
}

/// The explorer's `codebase-map.json` (S2.13).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodebaseMap {
    pub repository: MappedRepository,
    pub structure: Structure,
    pub relevant_files: RelevantFiles,
    pub code_style: CodeStyle,
    pub build_commands: BuildCommands,
    pub insights: Insights,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MappedRepository {
    pub owner: String,
    pub name: String,
    pub local_path: String,
    /// Where the work is to be done.
    pub branch: String,
    pub default_branch: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Structure {
    pub framework: String,
    pub language: String,
    pub package_manager: String,
    pub monorepo: bool,
    pub source_dir: String,
    pub test_dir: String,
    pub docs_dir: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelevantFiles {
    /// Most relevant first.
    pub to_modify: Vec<RelevantFile>,
    pub to_reference: Vec<ReferenceFile>,
    pub tests: Vec<String>,
    pub docs: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelevantFile {
    pub path: String,
    pub purpose: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_numbers: Option<Vec<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_preview: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceFile {
    pub path: String,
    pub purpose: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeStyle {
    pub indent: String,
    pub quotes: Quotes,
    pub semicolons: bool,
    pub trailing_comma: String,
    pub line_length: u64,
    pub formatter: String,
    pub linter: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quotes {
    Single,
    Double,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildCommands {
    pub install: String,
    pub build: String,
    pub test: String,
    pub lint: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Insights {
    pub patterns_observed: Vec<String>,
    pub potential_gotchas: Vec<String>,
}

/// The coder's `code-changes.json` (S2.14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeChanges {
    pub branch: String,
    pub changes: Vec<FileChange>,
    pub validation: Validation,
    pub summary: ChangeSummary,
    /// False: there is nothing that could be committed, and `validation.errors` says why.
    pub commit_ready: bool,
    pub suggested_commit_message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    pub file: String,
    pub action: FileAction,
    /// Unified diff of this one file, with `---` and `+++` lines; what is applied is this and nothing else.
    pub diff: String,
    pub lines_changed: LinesChanged,
    /// What was done, as a sentence for the pull request.
    pub description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileAction {
    Created,
    Modified,
    Deleted,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinesChanged {
    pub added: u64,
    pub removed: u64,
}

/// A check that did not run is false here, with a line "not run: …" in `errors` (A2.4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    pub lint_passed: bool,
    pub typecheck_passed: bool,
    pub build_passed: bool,
    pub tests_passed: bool,
    pub errors: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSummary {
    pub total_files_changed: u64,
    pub total_additions: u64,
    pub total_deletions: u64,
}

/// `pr-created.json` (S2.17): the proof of what the pr agent's draft came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrCreated {
    pub pr: CreatedPull,
    pub commits: Vec<CreatedCommit>,
    pub issue_linked: LinkedIssue,
    pub ci_status: CiStatus,
    pub summary: PullSummary,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedPull {
    pub url: String,
    pub number: u64,
    pub title: String,
    pub branch: String,
    pub base: String,
    pub state: PullState,
    pub draft: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    Open,
    Draft,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedCommit {
    pub sha: String,
    pub message: String,
    pub files_changed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedIssue {
    pub number: u64,
    pub url: String,
    /// True only when the base is the default branch (A2.9).
    pub auto_close: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CiStatus {
    pub checks_started: bool,
    pub initial_status: CiState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CiState {
    Pending,
    Success,
    Failure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PullSummary {
    pub files_in_pr: u64,
    pub additions: u64,
    pub deletions: u64,
    pub commits: u64,
}

/// The tester's `test-changes.json` (S2.15).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestChanges {
    pub tests_required: bool,
    /// Why tests are, or are not, part of the change.
    pub reason: String,
    pub test_files: Vec<TestFileChange>,
    pub validation: TestValidation,
    pub summary: TestSummary,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestFileChange {
    pub path: String,
    pub action: WriteAction,
    pub tests_added: Vec<TestAdded>,
}

/// Test and documentation files are never deleted by an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WriteAction {
    Created,
    Modified,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestAdded {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: TestKind,
    /// A path, a function, or the behaviour that is held fast.
    pub covers: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TestKind {
    Unit,
    Integration,
    E2e,
}

/// False where nothing ran, with a line "not run: …" in `reason`; coverage is then `not measured` (A2.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestValidation {
    pub existing_tests_pass: bool,
    pub new_tests_pass: bool,
    pub coverage_before: String,
    pub coverage_after: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestSummary {
    pub tests_added: u64,
    pub tests_modified: u64,
    pub total_test_files: u64,
}

/// The docs agent's `docs-changes.json` (S2.16).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocsChanges {
    pub docs_required: bool,
    /// Why documentation is, or is not, part of the change.
    pub reason: String,
    pub doc_files: Vec<DocFileChange>,
    pub validation: DocsValidation,
    pub summary: DocsSummary,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocFileChange {
    pub path: String,
    pub action: WriteAction,
    pub sections_updated: Vec<SectionUpdate>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SectionUpdate {
    pub heading: String,
    pub change: String,
}

/// False where nothing was checked (A2.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocsValidation {
    pub links_valid: bool,
    pub examples_tested: bool,
    pub spelling_checked: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocsSummary {
    pub files_updated: u64,
    pub sections_added: u64,
    pub sections_modified: u64,
}

macro_rules! contents {
    ($($content:ident $agent:literal $file:literal;)*) => {
        $(impl Content for $content {
            const AGENT: &'static str = $agent;
            const FILE: &'static str = $file;
        })*
    };
}

contents! {
    CurrentIssue "agent-1-scout" "current-issue.json";
    IssueAnalysis "agent-2-analyst" "issue-analysis.json";
    CodebaseMap "agent-3-explorer" "codebase-map.json";
    CodeChanges "agent-4-coder" "code-changes.json";
    TestChanges "agent-5-tester" "test-changes.json";
    DocsChanges "agent-6-docs" "docs-changes.json";
    PrCreated "agent-7-pr" "pr-created.json";
}
