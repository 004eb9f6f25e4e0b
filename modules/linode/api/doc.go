// Package api holds the types, the requests and the table of operations of the Linode API, generated from
// openapi/linode.yaml: *.gen.go is never edited, `make generate` writes it.
//
// Programs use package linode, which adds the token, retries, rate limits, paging and errors, and take the types of
// requests and answers from here. The simulator builds its server on the same types.
//
// Shapes: a field that the API always sends is a plain value; one that it always sends and that may be null is a
// pointer, written as null when nil; one that it may leave out is a pointer with omitempty; one that it may leave out or
// send as null is a nullable.Nullable, which distinguishes the two. In requests every optional field is a pointer:
// nil is not sent, and a pointer to an empty slice or map is sent as [] or {}, which clears the value.
//
// Units are the API's: MB, Mbit/s, GB of transfer a month, US dollars. Enumerations are strings; a value that the
// description lacks is kept as it is.
//
// Values of these types are plain data: safe for concurrent reading, not for writing.
package api
