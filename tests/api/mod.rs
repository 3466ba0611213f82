//! The documents of the API, OpenAPI and AsyncAPI: the host does what they say.

mod asyncapi;
mod openapi;
mod openapi_answers;
mod openapi_examples;
