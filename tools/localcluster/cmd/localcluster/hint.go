package main

import "regexp"

// defaultName is the name of the cluster that make uses without CLUSTER.
const defaultName = "dev"

var makeVerb = regexp.MustCompile(`\bmake (-s )?[a-z]+`)

// hint adds CLUSTER to each command of make in a text about a cluster that is not the default one.
func hint(name, text string) string {
	if name == defaultName {
		return text
	}
	return makeVerb.ReplaceAllString(text, "$0 CLUSTER="+name)
}
