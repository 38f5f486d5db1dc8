use super::place;

#[tokio::test]
async fn look() {
    let Some(place) = place().await else { return };
    for check in &place.sandbox.probe().checks {
        eprintln!("{check:?}");
    }
    for line in [
        "id; pwd; env; ls -la / /dev /etc /work; mount; cat /proc/self/status; ls /proc/self/fd; ulimit -a",
        "sleep 100 & exit 3",
        "touch /work/x; ls -la /work; touch /x; python3 --version; node --version; cat /proc/self/cgroup",
    ] {
        let ran = place.run(octoswarm::sandbox::Command::shell(line)).await;
        eprintln!("{:?} {:?} {:?} {} \n{}", ran.ended, ran.wall, ran.cpu, ran.peak_memory, ran.output.text.open());
    }
}
