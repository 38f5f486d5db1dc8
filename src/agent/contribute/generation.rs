//! What to write (S1.13, S1.14) and what git shows of it (S2.14, S2.15): one way there, one way back (A1.4).

use serde::Deserialize;
use serde_json::Value;

use super::assembly::{after, file_change};
use super::{survey, words};
use crate::agent::{Context, Error, Role, Scene};
use crate::artifact::generation::{
    CodeGeneration, FileDependencies, FilePurpose, GeneratedFile, GenerationMetadata, GenerationQuality,
    GenerationSummary, LintSeverity, LintingIssue, TestSuite,
};
use crate::artifact::swarm::{ChangeSummary, CodeChanges, FileAction, FileChange, Validation};
use crate::artifact::{ErrorCode, Fault, check};
use crate::domain::Severity;
use crate::stdx::text::count;
use crate::workspace::Side;

/// Reads an answer of that form.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn read<T: for<'de> Deserialize<'de>>(role: Role, form: &str, answer: Value) -> Result<T, Error> {
    let faults: Vec<String> =
        check(form, &answer).unwrap_or_default().iter().filter(|f| f.is_error()).map(Fault::to_string).collect();
    if !faults.is_empty() {
        return Err(Error::Invalid { role: role.name(), faults: faults.join("; ") });
    }
    T::deserialize(answer).map_err(|source| Error::Input { role: role.name(), source })
}

/// The text of a file on the side that the work starts from; none where there is no file.
async fn old_text(cx: &Context, role: Role, path: &str) -> Result<Option<String>, Error> {
    let side = match &cx.scene {
        Scene::Contribute(scene) => scene.tree.read(path).await?,
        Scene::Review(scene) => scene.change.new_side(path).await?,
        Scene::Monitor(_) => return Err(Error::Scene("a contribution or a review")),
    };
    match side {
        Side::Text(text) => Ok(Some(text)),
        Side::Absent => Ok(None),
        Side::NotRead(reason) => {
            let faults = format!("`{}` cannot be replaced: {reason}", words::line(path, 200));
            Err(Error::Invalid { role: role.name(), faults })
        }
    }
}

/// The edits that whole files come to; a file that is as it was is none.
async fn edits(cx: &Context, role: Role, files: &[(&str, &str, String)]) -> Result<Vec<FileChange>, Error> {
    let mut edits = Vec::new();
    for (path, content, description) in files {
        let old = old_text(cx, role, path).await?;
        if old.as_deref() != Some(*content) {
            edits.push(file_change(path, old.as_deref(), content, words::line(description, 200)));
        }
    }
    Ok(edits)
}

/// The change that the files of a generation come to.
///
/// # Errors
/// `CODE_001` where the generation says that its code does not parse; a file that is no text; the tree cannot be read.
pub(super) async fn changes(cx: &Context, generation: &CodeGeneration, branch: String) -> Result<CodeChanges, Error> {
    if !generation.quality.syntax_valid {
        let error = ErrorCode::CodeSyntaxError.error(Role::Coder.name(), "its code does not parse, as it says itself");
        return Err(Error::Reported(error));
    }
    let purpose = |purpose: FilePurpose| match purpose {
        FilePurpose::Implementation => "Written by the coder.",
        FilePurpose::Export => "Exports, written by the coder.",
        FilePurpose::Helper => "A helper, written by the coder.",
        FilePurpose::TypeDefinition => "Types, written by the coder.",
    };
    let files: Vec<(&str, &str, String)> = generation
        .generated_files
        .iter()
        .map(|file| (file.path.as_str(), file.content.as_str(), purpose(file.purpose).to_owned()))
        .collect();
    let changes = edits(cx, Role::Coder, &files).await?;
    let mut errors: Vec<String> = super::coder::NOT_RUN.iter().map(|line| (*line).to_owned()).collect();
    if changes.is_empty() {
        errors = vec!["the coder wrote nothing that differs from what is there".to_owned()];
    }
    let mut summary = ChangeSummary::default();
    for change in &changes {
        summary.total_files_changed += 1;
        summary.total_additions += change.lines_changed.added;
        summary.total_deletions += change.lines_changed.removed;
    }
    let subject = format!("fix: make the change that the issue asks for in {}", count(changes.len(), "file"));
    Ok(CodeChanges {
        branch,
        commit_ready: !changes.is_empty(),
        suggested_commit_message: if changes.is_empty() { String::new() } else { subject },
        validation: Validation { errors, ..Validation::default() },
        summary,
        changes,
    })
}

/// The edits that the files of a test suite come to. They are made against the tree as the coder leaves it.
pub(super) async fn test_edits(cx: &Context, coder: &CodeChanges, suite: &TestSuite) -> Result<Vec<FileChange>, Error> {
    let mut made = Vec::new();
    for file in &suite.test_files {
        let old = match coder.changes.iter().find(|change| change.file == file.path) {
            Some(change) => written(cx, Role::Tester, change).await?,
            None => old_text(cx, Role::Tester, &file.path).await?,
        };
        if old.as_deref() != Some(file.content.as_str()) {
            let description = format!("{} written by the tester.", count(file.test_names.len(), "test"));
            made.push(file_change(&file.path, old.as_deref(), &file.content, description));
        }
    }
    Ok(made)
}

/// A file as a change leaves it; none when it deletes it.
async fn written(cx: &Context, role: Role, change: &FileChange) -> Result<Option<String>, Error> {
    let old = match change.action {
        FileAction::Created => None,
        FileAction::Deleted => return Ok(None),
        FileAction::Modified => old_text(cx, role, &change.file).await?,
    };
    let applied = after(old.as_deref(), &change.diff);
    applied.map(Some).map_err(|why| Error::Invalid { role: role.name(), faults: format!("{}: {why}", change.file) })
}

/// The files of a change as a whole. What it deletes has no content and is in no generation: `code-changes.json` has it.
pub(super) async fn generation(
    cx: &Context,
    changes: &CodeChanges,
    task_id: String,
    took_ms: u64,
) -> Result<CodeGeneration, Error> {
    let (mut files, mut issues, mut summary) = (Vec::new(), Vec::new(), GenerationSummary::default());
    let mut parsed = true;
    for change in &changes.changes {
        let Some(text) = written(cx, Role::Coder, change).await?.filter(|text| !text.is_empty()) else { continue };
        let (engine, path) = (cx.engine.clone(), change.file.clone());
        let (text, scan) = tokio::task::spawn_blocking(move || {
            let scan = engine.scan(&path, &text);
            (text, scan)
        })
        .await
        .map_err(|_| Error::Scanner { path: change.file.clone() })?;
        parsed &= !scan.syntax_errors;
        issues.extend(scan.findings.into_iter().map(|finding| LintingIssue {
            rule: finding.rule.0,
            severity: match finding.severity {
                Severity::High => LintSeverity::Error,
                Severity::Medium => LintSeverity::Warning,
                Severity::Low => LintSeverity::Info,
            },
            message: format!("{}: {}", change.file, finding.message),
            line: finding.span.start_line,
            column: finding.span.start_column,
            suggestion: Some(finding.why).filter(|why| !why.is_empty()),
        }));
        summary.total_loc += text.lines().filter(|line| !line.trim().is_empty()).count() as u64;
        match change.action {
            FileAction::Created => summary.files_created += 1,
            FileAction::Modified | FileAction::Deleted => summary.files_modified += 1,
        }
        files.push(GeneratedFile {
            path: change.file.clone(),
            content: text,
            language: survey::language(&change.file).unwrap_or("text").to_owned(),
            purpose: FilePurpose::Implementation,
            dependencies: FileDependencies::default(),
        });
    }
    let left = not_done(changes);
    let asked = files.len() + left.len();
    let confidence = if asked == 0 { 0.0 } else { files.len() as f64 / asked as f64 };
    Ok(CodeGeneration {
        task_id,
        language: files.first().map_or_else(|| "text".to_owned(), |file| file.language.clone()),
        timestamp: cx.timestamp(),
        generated_files: files,
        summary,
        quality: GenerationQuality {
            syntax_valid: parsed,
            estimated_coverage: None,
            linting_issues: issues,
            suggested_improvements: left,
        },
        metadata: GenerationMetadata {
            generation_duration_ms: took_ms,
            token_used: None,
            model: None,
            temperature: None,
            confidence,
        },
    })
}

/// What a change says it left undone.
pub(super) fn not_done(changes: &CodeChanges) -> Vec<String> {
    changes.validation.errors.iter().filter_map(|line| line.strip_prefix("not done: ")).map(str::to_owned).collect()
}
