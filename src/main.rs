//! The `octoswarm` binary: everything lives in the library's `cli` room.

fn main() -> std::process::ExitCode {
    octoswarm::cli::main()
}
