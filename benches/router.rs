//! What the router's own code costs a request that needs no worker: its boxed future, its routing
//! and the headers of the answer.

use std::hint::black_box;

use bytes::Bytes;
use criterion::Criterion;
use http::Request;
use http_body_util::Full;
use plimsoll_router::{Cluster, Router, RouterConfig};
use tokio::runtime;
use tower_service::Service;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    answer(&mut criterion);
    criterion.final_summary();
}

fn answer(criterion: &mut Criterion) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut router = Router::new(Cluster::new(RouterConfig::new(Vec::new())));
    criterion.bench_function("router/liveness", |bencher| {
        bencher.iter(|| {
            let request = Request::get("/liveness").body(Full::<Bytes>::default());
            let future = router.call(request.expect("a request"));
            black_box(runtime.block_on(future))
        });
    });
}
