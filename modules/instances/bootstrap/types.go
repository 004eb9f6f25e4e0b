package bootstrap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TokenSource names where the token of a join comes from.
type TokenSource string

// Values of TokenSource.
const (
	// NoToken: the user's own text contains the credentials with which the node joins.
	NoToken TokenSource = ""
	// NodeToken: each node gets its own bootstrap token.
	NodeToken TokenSource = "node"
	// SharedToken: all nodes join with one token, which a Secret contains.
	SharedToken TokenSource = "shared"
)

// Type lists the traits of one way to join. Each type has one file, with its row and its renderer; a caller decides
// by traits and never by name.
type Type struct {
	Name  string
	Token TokenSource
	// JoinsEndpoint: the user data needs Cluster.Endpoint. Otherwise the user's own text contains it.
	JoinsEndpoint bool
	// PinsCA: no node joins without a hash in Cluster.CACertHashes.
	PinsCA bool
	// UserData: the user's own text is the base, Inputs.UserData.
	UserData bool
	// Installer is the default address that Kubernetes is installed from, in the version Cluster.Version; "" for types whose image or
	// own user data contains Kubernetes.
	Installer string
	// ServesCertificates: the servers of the distribution sign the kubelet's serving certificate, so the kubelet requests
	// no certificate.
	ServesCertificates bool
	// Kernel is the kernel that a Linode of the type boots; "" for the image's own.
	Kernel string
	// Verbatim reports whether the reader in the image takes no gzip; nil means that it takes gzip.
	Verbatim func(content []byte) bool
	// Missing returns the variables that the user's own text lacks; nil means that the type has no variables.
	Missing func(userData []byte) []string

	render func(in Inputs) ([]byte, error)
}

// NoInstaller is the value of an installer's address for images that contain Kubernetes already.
const NoInstaller = "none"

// Inputs has the values that the user data of one node is rendered from. A type ignores parameters that its traits do not name.
type Inputs struct {
	Config
	Token     string
	Installer string // "" for the type's own, or NoInstaller
	UserData  []byte // the user's own text
}

// The table has one row for each type. A row is in the file of its renderer.
var table = map[string]Type{}

func row(t Type) Type { //nolint:unparam // so that it may be a declaration
	table[t.Name] = t
	return t
}

// Types returns the rows of the table in the order of their names.
func Types() []Type {
	return slices.SortedFunc(maps.Values(table), func(a, b Type) int { return strings.Compare(a.Name, b.Name) })
}

// TypeOf returns the row of a name. The error names the types that exist.
func TypeOf(name string) (Type, error) {
	t, ok := table[name]
	if !ok {
		return Type{}, &Error{Field: "type", Err: fmt.Errorf("%q is unknown; use %s", name, strings.Join(slices.Sorted(maps.Keys(table)), ", "))}
	}
	return t, nil
}

// Rendered is the user data of one node.
type Rendered struct {
	Content []byte
	// Verbatim: the content must not be compressed.
	Verbatim bool
}

// Render returns the user data of a node that joins in this way.
func (t Type) Render(in Inputs) (Rendered, error) {
	in.Installer = t.installer(in.Installer)
	content, err := t.render(in)
	if err != nil {
		return Rendered{}, err
	}
	return Rendered{Content: content, Verbatim: t.Verbatim != nil && t.Verbatim(content)}, nil
}

// Installs reports whether the user data installs Kubernetes, with the installer that a class names.
func (t Type) Installs(installer string) bool { return t.installer(installer) != "" }

func (t Type) installer(wanted string) string {
	if wanted == NoInstaller {
		return ""
	}
	return cmp.Or(wanted, t.Installer)
}

func always([]byte) bool { return true }
