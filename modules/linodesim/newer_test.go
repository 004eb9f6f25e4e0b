package linodesim_test

import (
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/description"
)

// newer names fields that answers got during the years of the recordings, with the object of the API's description that has them and the
// source. A recorded answer may lack one of them, and no other field.
var newer = map[string]string{
	"Instance.locks":                 "v4beta; recordings of 2024 and 2025 lack it, those of 2026 have it",
	"Instance.maintenance_policy":    "recordings of 2024 lack it",
	"InstanceAlerts.system_alerts":   "one recorded Linode has it, others of 2024 to 2026 lack it",
	"InstanceAlerts.user_alerts":     "as system_alerts",
	"LinodeType.accelerated_devices": "the list of plans of 2024-07 lacks it, instances' specs of 2025 have it",

	"LKECluster.locks":                   "v4beta; recordings of 2025 lack it",
	"LKECluster.stack_type":              "v4beta, Enterprise (FACTS 2); the recording of 2025 lacks it",
	"LKECluster.subnet_id":               "as stack_type",
	"LKECluster.vpc_id":                  "as stack_type",
	"LKEControlPlane.audit_logs_enabled": "Enterprise, 2026 (FACTS 15)",
	"LKENodePool.label":                  "the Enterprise pool of 2025 lacks it",
	"LKENodePool.locks":                  "as LKECluster.locks",

	"PlacementGroupLimits.maximum_linodes_per_flexible_pg": "FACTS 15 and 18, third table, 25; the list of regions at hand lacks it",
	"Region.monitors": "in 178 of 216 recorded lists (FACTS 15)",

	"VPC.vpc_type":       "2026 (FACTS 15)",
	"VPCSubnet.vpc_type": "as VPC.vpc_type",
	"Volume.io_ready":    "2026 (FACTS 18, third table, 5)",
	"Volume.locks":       "as Volume.io_ready",

	"NodeBalancer.backend_connectivity":   "2026-08 (FACTS 18, third table, 1)",
	"NodeBalancer.frontend_address_type":  "as backend_connectivity",
	"NodeBalancer.frontend_vpc_subnet_id": "as backend_connectivity",
	"NodeBalancer.locks":                  "as backend_connectivity",

	"Profile.user_type": "API 4.229.1 (FACTS 17)",
}

var spec = sync.OnceValues(description.GetSpec)

// answerOf finds the schema of the answer to a recorded request, nil for a route that is not described.
func answerOf(e exchange) *openapi3.SchemaRef {
	described, err := spec()
	if err != nil {
		panic(err) // the description is compiled in
	}
	recorded, _, _ := strings.Cut(e.Path, "?")
	segments := strings.Split(recorded, "/")[2:] // without the version
	var found *openapi3.SchemaRef
	fewest := len(segments) + 1
	for route, item := range described.Paths.Map() {
		op := item.GetOperation(e.Method)
		if parameters, fits := fit(route, segments); op != nil && fits && parameters < fewest {
			found, fewest = op.Responses.Value("200").Value.Content.Get("application/json").Schema, parameters
		}
	}
	return found
}

// fit reports whether a path is of a route, and how many parameters the route has.
func fit(route string, segments []string) (parameters int, fits bool) {
	parts := strings.Split(route, "/")[1:]
	fits = slices.EqualFunc(parts, segments, func(part, segment string) bool {
		if strings.HasPrefix(part, "{") {
			parameters++
			return true
		}
		return part == segment
	})
	return parameters, fits
}

// property and items return nil for an object or a list that the description does not have.
func property(of *openapi3.SchemaRef, key string) *openapi3.SchemaRef {
	of = plainSchema(of)
	if of == nil {
		return nil
	}
	return of.Value.Properties[key]
}

func items(of *openapi3.SchemaRef) *openapi3.SchemaRef {
	of = plainSchema(of)
	if of == nil {
		return nil
	}
	return of.Value.Items
}

// plainSchema looks into a schema that only adds null to another one.
func plainSchema(of *openapi3.SchemaRef) *openapi3.SchemaRef {
	if of != nil && len(of.Value.AllOf) == 1 {
		return of.Value.AllOf[0]
	}
	return of
}

// fieldOf names a field as newer does.
func fieldOf(of *openapi3.SchemaRef, key string) string {
	of = plainSchema(of)
	if of == nil {
		return ""
	}
	return path.Base(of.Ref) + "." + key
}

// Where recordings of different years differ, the description has the newest shape, and fields that older ones lack are optional.
func TestFieldsThatOlderAnswersLackAreOptional(t *testing.T) {
	described, err := spec()
	if err != nil {
		t.Fatal(err)
	}
	for field := range newer {
		object, key, _ := strings.Cut(field, ".")
		of := described.Components.Schemas[object]
		if of == nil || of.Value.Properties[key] == nil || slices.Contains(of.Value.Required, key) {
			t.Errorf("%s is not an optional field of the description", field)
		}
	}
}
