//! Defaults < file < environment < flags.

use super::{super::Topology, *};

#[test]
fn each_layer_stands_over_the_one_below() {
    let file = Config::new("port = 1\nprometheus-port = 2\nhealth-check-timeout-secs = 3\n");
    let variables = ["PLIMSOLL_PORT=11", "PLIMSOLL_PROMETHEUS_PORT=12"];
    let settings = settings_in(&file.after(&format!("{WORKER} --port 21")), &variables).unwrap();
    assert_eq!(settings.listen.port, 21);
    assert_eq!(settings.metrics_listen.port, 12);
    assert_eq!(settings.health.timeout.as_secs(), 3);
    assert_eq!(settings.health.interval.as_secs(), 5);
}

#[test]
fn lists_replace_lists_of_lower_layers() {
    let file = Config::new("worker-urls = ['http://a', 'http://b']");
    let urls = |line: &str, variables: &[&str]| match settings_in(&file.after(line), variables)
        .unwrap()
        .topology
    {
        Topology::Plain(urls) => urls.join(" "),
        pd @ Topology::Pd { .. } => panic!("{pd:?}"),
    };
    let variable = ["PLIMSOLL_WORKER_URLS= http://c  http://d "];
    assert_eq!(urls("", &[]), "http://a http://b");
    assert_eq!(urls("", &variable), "http://c http://d");
    assert_eq!(urls("--worker-urls http://e", &variable), "http://e");
}

#[test]
fn a_switch_can_be_turned_off_by_a_higher_layer() {
    let file = Config::new("disable-health-check = true");
    let disabled =
        |variables: &[&str]| settings_in(&file.after(WORKER), variables).unwrap().health.disabled;
    assert!(disabled(&[]));
    assert!(!disabled(&["PLIMSOLL_DISABLE_HEALTH_CHECK=false"]));
    assert!(disabled(&["PLIMSOLL_DISABLE_HEALTH_CHECK=1"]));
}

#[test]
fn a_file_holds_every_kind_of_value() {
    let file = Config::new(
        "pd-disaggregation = true\n\
         prefill = ['http://p:1 8998', 'http://q:1', 'http://r:1 none']\n\
         decode = 'http://d:1'\n\
         port = 0x10\n\
         max-payload-size = 1_000\n\
         max-concurrent-requests = -1\n\
         cache-threshold = 0.5\n\
         prometheus-duration-buckets = [0.5, 1, 2.5]\n\
         api-key = '-abc'\n",
    );
    let settings = settings(&file.after(""));
    let prefill = [("http://p:1", Some(8998)), ("http://q:1", None), ("http://r:1", None)];
    let prefill = prefill.map(|(url, port)| (url.to_owned(), port)).to_vec();
    assert_eq!(settings.topology, Topology::Pd { prefill, decode: vec!["http://d:1".to_owned()] });
    assert_eq!((settings.listen.port, settings.max_payload_size), (16, 1000));
    assert_eq!(settings.duration_buckets, Some(vec![0.5, 1.0, 2.5]));
    assert_eq!(settings.api_key.unwrap().expose(), "-abc");
}

#[test]
fn the_environment_alone_is_enough() {
    let file = Config::new("decode = ['http://d:1']");
    let config = format!("PLIMSOLL_CONFIG={}", file.path().display());
    let variables = [
        config.as_str(),
        "PLIMSOLL_PD_DISAGGREGATION=yes",
        "PLIMSOLL_PREFILL=http://p:1 8998 http://q",
    ];
    let Topology::Pd { prefill, .. } = settings_in("", &variables).unwrap().topology else {
        panic!()
    };
    assert_eq!(prefill, [("http://p:1".to_owned(), Some(8998)), ("http://q".to_owned(), None)]);
}

#[test]
fn what_kubernetes_sets_for_a_service_of_our_name_is_left_alone() {
    let variables = [
        "PLIMSOLL_PORT=tcp://10.0.0.1:30001",
        "PLIMSOLL_PORT_30001_TCP_ADDR=10.0.0.1",
        "PLIMSOLL_SERVICE_HOST=10.0.0.1",
        "PLIMSOLL_REDIS_PORT=tcp://10.0.0.2:6379",
        "PLIMSOLL_REDIS_PORT_6379_TCP_PORT=6379",
        "PLIMSOLL_REDIS_MASTER_SERVICE_HOST=10.0.0.2",
        "PLIMSOLL_REDIS_MASTER_SERVICE_PORT=6379",
        "PLIMSOLL_REDIS_MASTER_SERVICE_PORT_TCP_REDIS=6379",
        "PLIMSOLL_HELP=1",
        "HOME=/root",
    ];
    assert_eq!(settings_in(WORKER, &variables).unwrap().listen.port, 30001);
}
