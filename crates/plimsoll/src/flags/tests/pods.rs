//! Workers that are found as pods.

use plimsoll_wire::Role;

use super::{
    super::{Pods, Topology},
    *,
};

#[test]
fn a_line_written_for_the_sglang_router_finds_pods() {
    let settings = settings(
        "--service-discovery --pd-disaggregation --prefill-selector app=sglang component=prefill \
         --decode-selector app=sglang component=decode --service-discovery-namespace sglang-system \
         --service-discovery-port 8000 --port 30000",
    );
    let selector = |role, selector: &str| (role, selector.to_owned());
    let pods = Pods {
        namespace: Some("sglang-system".to_owned()),
        port: 8000,
        selectors: vec![
            selector(Role::Prefill, "app=sglang,component=prefill"),
            selector(Role::Decode, "app=sglang,component=decode"),
        ],
    };
    assert_eq!(settings.pods, Some(pods));
    assert_eq!(settings.topology, Topology::Pd { prefill: Vec::new(), decode: Vec::new() });
}

#[test]
fn plain_pods_are_on_port_80_of_any_namespace() {
    let settings = settings("--service-discovery --selector models.io/app=a --selector empty=");
    let selectors = vec![(Role::Plain, "models.io/app=a,empty=".to_owned())];
    assert_eq!(settings.pods, Some(Pods { namespace: None, port: 80, selectors }));
    assert_eq!(settings.topology, Topology::Plain(Vec::new()));
}

#[test]
fn pods_come_beside_workers_that_are_named() {
    let line = "--pd-disaggregation --prefill http://p:1 --service-discovery --decode-selector a=b";
    assert!(settings(line).pods.is_some());
    let file = Config::new("service-discovery = true\nselector = ['a=b', 'c=d']\n");
    let pods = settings(&file.after(WORKER)).pods.unwrap();
    assert_eq!(pods.selectors, [(Role::Plain, "a=b,c=d".to_owned())]);
}

#[test]
fn what_does_not_say_which_pods_is_an_error() {
    let pd = "--pd-disaggregation --service-discovery";
    for (line, wanted) in [
        ("--service-discovery".to_owned(), "--service-discovery: needs --selector KEY=VALUE, or"),
        (pd.to_owned(), "--service-discovery: needs --selector KEY=VALUE, or"),
        (
            "--service-discovery --prefill-selector a=b".to_owned(),
            "--prefill-selector: needs --pd-disaggregation; for engines that do both, use",
        ),
        (
            format!("{pd} --selector a=b"),
            "--selector: does not go with --pd-disaggregation; use --prefill-selector",
        ),
        (
            format!("{pd} --prefill-selector a=b"),
            "--pd-disaggregation: needs at least one --decode URL",
        ),
        (
            "--service-discovery --selector a=b app".to_owned(),
            "--selector: \"app\" is no label; expected KEY=VALUE",
        ),
        ("--service-discovery --selector a=b,c!=d".to_owned(), "--selector: \"a=b,c!=d\" is no"),
        ("--service-discovery --selector =b".to_owned(), "--selector: \"=b\" is no label"),
        (
            "--service-discovery --selector a=b --service-discovery-namespace a/b".to_owned(),
            "--service-discovery-namespace: \"a/b\" is no namespace",
        ),
    ] {
        let error = error(&line);
        assert!(error.starts_with(wanted), "{line}: {error}");
    }
    assert!(error(&format!("{WORKER} --service-discovery-port 0")).contains("from 1 to 65535"));
}

#[test]
fn without_the_switch_the_others_have_no_effect() {
    let settings = settings(&format!("{WORKER} --selector a=b --service-discovery-port 8000"));
    assert_eq!(settings.pods, None);
    let warning = "--selector: has no effect without --service-discovery";
    assert_eq!(settings.warnings.len(), 2, "{:?}", settings.warnings);
    assert_eq!(settings.warnings[0], warning);
}
