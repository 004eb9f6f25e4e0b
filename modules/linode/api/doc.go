// Package api holds the types, the requests and the table of operations of the Linode API, generated from
// openapi/linode.yaml: *.gen.go is never edited, `make generate` writes it.
//
// Programs use package linode, which adds the token, retries, rate limits, paging and errors, and take the types of
// requests and answers from here. The simulator builds its server on the same types.
//
// Shapes. The Go type of a response's field says what the API may send:
//
//	value                  the API always sends the field
//	pointer                the API always sends the field, and it may be null; nil is written as null
//	pointer, omitempty     the API may leave the field out
//	nullable.Nullable      the API may leave the field out or send null; the type distinguishes the two
//
// In requests every optional field is a pointer. nil is not sent. A pointer to an empty slice or map is sent as [] or
// {}, which clears the value.
//
// Units are the API's: MB, Mbit/s, GB of transfer a month, US dollars. Enumerations are strings; a value that the
// description lacks is kept as it is.
//
// Values of these types are plain data: safe for concurrent reading, not for writing.
package api
