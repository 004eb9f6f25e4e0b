package main

import (
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// parameter is a segment of an operation's path.
type parameter struct {
	name, variable string
	number         bool
}

// signature has the types of an operation's input and output, by names of package api.
type signature struct {
	Path         []parameter
	Body, Answer string // "" = no body
	Rows         string // of an answer that is a bare list
}

func readSignature(op *openapi3.Operation) signature {
	var s signature
	for _, ref := range op.Parameters {
		if p := ref.Value; p.In == "path" {
			s.Path = append(s.Path, parameter{name: p.Name, variable: variable(p.Name), number: p.Schema.Value.Type.Is("integer")})
		}
	}
	if op.RequestBody != nil {
		s.Body = schemaName(op.RequestBody.Value.Content)
	}
	content := op.Responses.Value("200").Value.Content
	s.Answer = schemaName(content)
	if items := content["application/json"].Schema.Value.Items; items != nil {
		s.Rows = items.Ref[strings.LastIndex(items.Ref, "/")+1:]
	}
	return s
}

func schemaName(content openapi3.Content) string {
	ref := content["application/json"].Schema.Ref
	return ref[strings.LastIndex(ref, "/")+1:]
}

// variable turns clusterId into clusterID.
func variable(name string) string {
	if rest, found := strings.CutSuffix(name, "Id"); found {
		return rest + "ID"
	}
	return name
}

// World names the version of the simulator's model that the handler uses: GETs use the visible version, all other methods
// use the present version.
func (o operation) World() string {
	if o.Method == "GET" {
		return "Seen"
	}
	return "Live"
}

// subjects maps the beginnings of routes to the types of the simulator's model that serve them. The first entry that fits
// counts.
var subjects = []struct{ route, name string }{
	{"/lke/clusters/{clusterId}/pools", "Pools"}, {"/lke/clusters/{clusterId}/nodes", "Nodes"}, {"/lke/clusters", "Clusters"},
	{"/lke/", "Offers"},
	{"/linode/types", "Offers"}, {"/regions", "Offers"}, {"/account/availability", "Offers"},
	{"/linode/instances/{linodeId}/disks", "Disks"}, {"/linode/instances/{linodeId}/configs", "Configs"},
	{"/linode/instances/{linodeId}/interfaces/{interfaceId}/firewalls", "Firewalls"},
	{"/linode/instances/{linodeId}/interfaces", "Interfaces"}, {"/linode/instances/{linodeId}/ips", "Addresses"},
	{"/linode/instances/{linodeId}/firewalls", "Firewalls"}, {"/linode/instances/{linodeId}/volumes", "Volumes"},
	{"/linode/instances", "Linodes"}, {"/volumes", "Volumes"},
	{"/nodebalancers/{nodebalancerId}/firewalls", "Firewalls"},
	{"/nodebalancers", "NodeBalancers"},
	{"/networking/firewalls", "Firewalls"}, {"/networking/", "Addresses"},
	{"/vpcs", "VPCs"}, {"/images", "Images"}, {"/placement/groups", "Groups"}, {"/tags", "Tags"},
	{"/account", "Account"}, {"/profile", "Account"},
}

// Subject is the type of the simulator's model that has the operation as a method.
func (o operation) Subject() (string, error) {
	for _, s := range subjects {
		if strings.HasPrefix(o.Route, s.route) {
			return s.name, nil
		}
	}
	return "", fmt.Errorf("%s has no entry in subjects; add one", o.Route)
}

// Inputs are the names of the variables that the handler reads from a request. Readers are the expressions that read them,
// in the same order.
func (s signature) Inputs() string {
	var names []string
	for _, p := range s.Path {
		names = append(names, p.variable)
	}
	if s.Body != "" {
		names = append(names, "body")
	}
	return strings.Join(names, ", ")
}

// Readers is explained at Inputs.
func (s signature) Readers() string {
	var values []string
	for _, p := range s.Path {
		read := "text"
		if p.number {
			read = "number"
		}
		values = append(values, fmt.Sprintf("r.%s(%q)", read, p.name))
	}
	if s.Body != "" {
		values = append(values, fmt.Sprintf("decode[api.%s](r)", s.Body))
	}
	return strings.Join(values, ", ")
}
