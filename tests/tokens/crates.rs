//! The `oauth2` crate gets a token, used as its users use it. (`tests/clients.test.mjs` and `tests/clients.py` test
//! the libraries of other languages.)

use oauth2::basic::BasicClient;
use oauth2::{ClientId, ClientSecret, TokenResponse, TokenUrl};

use super::fixture::{AUDIENCE, Service};

#[tokio::test]
async fn the_oauth2_crate_gets_a_token() {
    let service = Service::start().await;
    let client = BasicClient::new(ClientId::new(service.operator.client_id.clone()))
        .set_client_secret(ClientSecret::new(
            service.operator.client_secret.reveal().to_owned(),
        ))
        .set_token_uri(TokenUrl::new(format!("{}/oauth2/token", service.host.url)).unwrap());
    let http =
        async |request: oauth2::HttpRequest| -> Result<oauth2::HttpResponse, reqwest::Error> {
            let answer = service.host.http.execute(request.try_into()?).await?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let mut response = http::Response::new(answer.bytes().await?.to_vec());
            (*response.status_mut(), *response.headers_mut()) = (status, headers);
            Ok(response)
        };
    let request = client
        .exchange_client_credentials()
        .add_extra_param("audience", AUDIENCE);
    let issued = request.request_async(&http).await.unwrap();
    assert_eq!(issued.expires_in().unwrap().as_secs(), 3_599);
    let token = issued.access_token().secret();
    assert_eq!(service.status_of(token).await.0, 200);

    let refused = client.exchange_client_credentials().request_async(&http);
    let Err(oauth2::RequestTokenError::ServerResponse(refused)) = refused.await else {
        panic!("the audience is missing")
    };
    let needed = format!("audience must be {AUDIENCE}");
    assert_eq!(refused.error_description(), Some(&needed));
}
