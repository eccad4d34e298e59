//! Listening, and the code.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_a_fault_and_a_free_one_helps() {
    let mut machine = Machine::new("near");
    let taken = std::net::TcpListener::bind("[::]:0").unwrap();
    machine.app.receiving.listen(Some(taken.local_addr().unwrap().port())).await;
    match machine.app.receiving.listening() {
        Listening::Failed { fault: Fault::Listen { source, .. }, .. } => assert_eq!(source.errno, Some(98)),
        _ => panic!("listens on a taken port"),
    }
    let (_, first) = machine.listen().await;
    machine.app.receiving.renew_code().await.unwrap();
    match machine.app.receiving.listening() {
        Listening::On { code: Some(code), .. } => assert_ne!(code.code.unwrap(), first),
        _ => panic!("does not listen"),
    }
}
