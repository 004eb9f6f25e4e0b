package linodesim_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/description"
)

// eventName is a kind of event as the model's source has it.
var eventName = regexp.MustCompile(`"((?:linode|disk|lke|volume|nodebalancer|firewall|domain|vpc|subnet|interface|account)_(?:[a-z]+_)*` +
	`(?:create|update|delete|boot|reboot|shutdown|rebuild|resize|migrate|imagize|attach|detach|clone))"`)

// Every kind of event is decoded strictly, in each of its states: the example of each operation that writes is sent, and the account's
// events are read at once and after an hour. The model's source names the kinds that there are.
func TestEveryKindOfEventDecodesStrictly(t *testing.T) {
	missing := map[string]bool{}
	files, err := filepath.Glob("internal/world/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range eventName.FindAllSubmatch(source, -1) {
			missing[string(m[1])] = true
		}
	}
	if len(missing) < 40 {
		t.Errorf("only %d kinds of events in the source", len(missing))
	}
	spec, err := description.GetSpec()
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]bool{}
	for route, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			if method == http.MethodGet {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				c, _ := sendExample(t, method, route, op)
				for range 2 {
					for _, e := range c.allEvents() {
						delete(missing, e.Action)
						states[string(e.Status)] = true
					}
					time.Sleep(time.Hour)
				}
			})
		}
	}
	for kind := range missing {
		t.Errorf("no operation made an event %s", kind)
	}
	for _, state := range []string{"scheduled", "started", "finished", "failed"} {
		if !states[state] {
			t.Errorf("no event was %s", state)
		}
	}
}

// allEvents reads the account's events and decodes them strictly.
func (c client) allEvents() []api.AccountEvent {
	c.t.Helper()
	r := c.do("GET", "/v4/account/events?page_size=500", "")
	var page api.AccountEventPage
	decoder := json.NewDecoder(bytes.NewReader([]byte(r.raw)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&page); r.status != 200 || err != nil {
		c.t.Fatalf("%d %v: %s", r.status, err, r.raw)
	}
	return page.Data
}
