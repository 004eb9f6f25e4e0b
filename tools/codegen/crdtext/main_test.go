package main

import (
	"strings"
	"testing"
)

func TestLinesOfADescriptionAreJoined(t *testing.T) {
	const in = `properties:
  tags:
    description: |-
      Tags are put on
      each instance.

      Second paragraph,
      two lines:
      - one
      - two,
        continued
    items:
      description: short
      message: |-
        kept
        as it is
`
	const want = `properties:
  tags:
    description: |-
      Tags are put on each instance.

      Second paragraph, two lines:
      - one
      - two, continued
    items:
      description: short
      message: |-
        kept
        as it is
`
	var out strings.Builder
	if err := join(strings.NewReader(in), &out); err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}
