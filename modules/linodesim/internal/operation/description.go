package operation

import "github.com/getkin/kin-openapi/openapi3"

// Description is the whole description, which must not be changed.
func (a *API) Description() *openapi3.T { return a.spec }
