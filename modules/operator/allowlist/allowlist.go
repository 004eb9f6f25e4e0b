// Package allowlist bounds which images, firewalls, VPCs and logins of an account LinodeNodeClasses may name.
//
// A user who may write a class chooses what a new node boots, who reaches it and who logs in to it. An administrator bounds this choice
// with a setting; an empty list allows everything. Examples:
//
//	images [private/12345]         a class with linode/debian12 gets no node; a class with imageSelector only if it selects this image
//	firewalls [678]                a class must name firewall 678; a class without a firewall gets no node
//	authorizedKeys [ssh-rsa A x]   a class may name ssh-rsa A, with any comment
//
// Package options parses the setting CLASS_ALLOW at the start, and an error ends the start. Package mode/instance calls Check when it
// checks a class, and again before each purchase, because the class may change in between. Check is a pure function of a class and the
// image that its nodes would get. Its Refusal names the field and the value of the class, and becomes the condition BootstrapReady with
// the reason NotAllowed.
//
// The JSON has the lists images, firewalls, vpcs, authorizedKeys and authorizedUsers. An image is an ID, with * for any text. Text after
// the object is an error.
package allowlist

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// List has the objects that classes may name. The zero value allows everything.
type List struct {
	// Images are IDs such as linode/debian12, with * for any text without a slash.
	Images []string `json:"images,omitempty"`
	// Firewalls are IDs. If the list has an entry, a class must name a firewall of the list: a class without a firewall would get the
	// account's default firewall, or none.
	Firewalls []int `json:"firewalls,omitempty"`
	VPCs      []int `json:"vpcs,omitempty"`
	// AuthorizedKeys are public keys of SSH; the comment at the end of a key does not count.
	AuthorizedKeys  []string `json:"authorizedKeys,omitempty"`
	AuthorizedUsers []string `json:"authorizedUsers,omitempty"`
}

// Parse reads a List from JSON. An empty text is the zero value; an unknown key is an error.
func Parse(text string) (List, error) {
	var list List
	if text == "" {
		return list, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return List{}, fmt.Errorf("no object with images, firewalls, vpcs, authorizedKeys and authorizedUsers: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return List{}, errors.New("text after the object")
	}
	for _, pattern := range list.Images {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return List{}, fmt.Errorf("images: %q is not a pattern for image IDs", pattern)
		}
	}
	return list, nil
}

// Refusal describes one value of a class that is not allowed.
type Refusal struct{ Field, Text string }

// Check returns the first value of a class that is not in the list, nil if the list has all values. image is the image that nodes
// would get, "" while it is unknown.
func (l List) Check(spec v1alpha1.LinodeNodeClassSpec, image string) *Refusal {
	if image != "" && len(l.Images) > 0 && !slices.ContainsFunc(l.Images, matches(image)) {
		field := "spec.image"
		if spec.ImageSelector != nil {
			field = "spec.imageSelector"
		}
		return refused(field, image, "images", strings.Join(l.Images, ", "))
	}
	if r := number("spec.firewallID", spec.FirewallID, "firewalls", l.Firewalls, true); r != nil {
		return r
	}
	if r := number("spec.vpcID", spec.VPCID, "vpcs", l.VPCs, false); r != nil {
		return r
	}
	for i, key := range spec.AuthorizedKeys {
		if len(l.AuthorizedKeys) > 0 && !slices.ContainsFunc(l.AuthorizedKeys, func(a string) bool { return material(a) == material(key) }) {
			return &Refusal{fmt.Sprintf("spec.authorizedKeys[%d]", i),
				"is not in settings.instance.allow.authorizedKeys; use a listed key, or ask the administrator to add it"}
		}
	}
	for i, user := range spec.AuthorizedUsers {
		if len(l.AuthorizedUsers) > 0 && !slices.Contains(l.AuthorizedUsers, user) {
			return refused(fmt.Sprintf("spec.authorizedUsers[%d]", i), user, "authorizedUsers", strings.Join(l.AuthorizedUsers, ", "))
		}
	}
	return nil
}

func matches(image string) func(string) bool {
	return func(pattern string) bool {
		is, _ := path.Match(pattern, image) // Parse has checked the pattern
		return is
	}
}

func number(field string, value *int, list string, allowed []int, required bool) *Refusal {
	texts := make([]string, len(allowed))
	for i, id := range allowed {
		texts[i] = fmt.Sprint(id)
	}
	switch {
	case len(allowed) == 0 || value == nil && !required || value != nil && slices.Contains(allowed, *value):
		return nil
	case value == nil:
		return &Refusal{field, fmt.Sprintf("is not set, and settings.instance.allow.%s requires one of %s", list, strings.Join(texts, ", "))}
	}
	return refused(field, fmt.Sprint(*value), list, strings.Join(texts, ", "))
}

func refused(field, value, list, allowed string) *Refusal {
	return &Refusal{field, fmt.Sprintf("%q is not in settings.instance.allow.%s, which has %s; use one of these, or have the "+
		"administrator add it",
		value, list, allowed)}
}

// material returns the part of a public key that identifies it. A line that begins with options counts as a whole.
func material(key string) string {
	fields := strings.Fields(key)
	for _, kind := range []string{"ssh-", "ecdsa-", "sk-"} {
		if len(fields) >= 2 && strings.HasPrefix(fields[0], kind) {
			return fields[0] + " " + fields[1]
		}
	}
	return strings.Join(fields, " ")
}
