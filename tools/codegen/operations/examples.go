package main

import (
	"encoding/json"
	"fmt"
	"sort"

	"github.com/getkin/kin-openapi/openapi3"
)

// example has the description's examples of one operation, as JSON.
type example struct{ ID, Request, Answer string }

// readExamples returns the examples of all operations. An answer or a request body without an example is an error.
func readExamples(doc *openapi3.T) ([]example, error) {
	var examples []example
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			e := example{ID: op.OperationID}
			var err error
			if e.Answer, err = exampleOf(op.Responses.Value("200").Value.Content); err != nil {
				return nil, fmt.Errorf("%s: answer: %w", op.OperationID, err)
			}
			if op.RequestBody != nil {
				if e.Request, err = exampleOf(op.RequestBody.Value.Content); err != nil {
					return nil, fmt.Errorf("%s: request: %w", op.OperationID, err)
				}
			}
			examples = append(examples, e)
		}
	}
	sort.Slice(examples, func(i, j int) bool { return examples[i].ID < examples[j].ID })
	return examples, nil
}

func exampleOf(content openapi3.Content) (string, error) {
	media := content.Get("application/json")
	if media == nil || media.Example == nil {
		return "", fmt.Errorf("no example of application/json")
	}
	text, err := json.Marshal(media.Example)
	return string(text), err
}
