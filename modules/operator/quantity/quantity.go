// Package quantity bounds the quantities in Kubernetes objects to what a node or a cluster can have.
//
// The API server accepts a request such as cpu: "1e9999999". A single comparison or sum with this quantity computes a number of ten million
// digits, and Karpenter core makes thousands of comparisons in each round of planning. One such pod of one user then delays the nodes of
// all other pods by minutes, and each line of the log about it has 10 MB. So the cache's transforms (karpentercore.CacheOptions) and
// snapshot.Read bound the objects that enter the process, before other code computes with them.
//
// Guarantees: Bound determines the size of a quantity without computing the number, so it costs the same for every exponent. It reaches
// every resource.Quantity in exported fields, slices, maps and pointers of a typed object. It does not reach unstructured objects and
// interfaces.
//
// Max is 10^15 cores or bytes. Package podevents warns about a pod with a request of Max.
package quantity

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Max is the largest quantity that Bound keeps: 10^15 cores, or 10^15 bytes (909 TiB). No node and no cluster has so much. The milli-value
// of Max, which core's metrics compute, still fits into an int64.
const Max = 1_000_000_000_000_000

// digits is the number of decimal digits up to which a number is compared exactly: enough for Max in nano-units.
const digits = 15 + 9 + 2

// Bound replaces every quantity above Max in an object by Max, and every quantity below -Max by -Max. It changes the object in place.
func Bound(object any) {
	if value := reflect.ValueOf(object); value.IsValid() && holds(value.Type()) {
		bound(value)
	}
}

// AtMax returns whether a quantity is at least Max. Bound may have reduced it to Max.
func AtMax(q resource.Quantity) bool { return q.CmpInt64(Max) >= 0 }

var of = reflect.TypeFor[resource.Quantity]()

// bound walks a value of a type that holds quantities.
func bound(value reflect.Value) {
	switch {
	case value.Type() == of:
		if q := value.Addr().Interface().(*resource.Quantity); beyond(*q) { //nolint:forcetypeassert // its type was compared
			*q = *limit(q)
		}
	case value.Kind() == reflect.Pointer:
		if !value.IsNil() {
			bound(value.Elem())
		}
	case value.Kind() == reflect.Struct:
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() && holds(field.Type) {
				bound(value.Field(i))
			}
		}
	case value.Kind() == reflect.Slice, value.Kind() == reflect.Array:
		for i := range value.Len() {
			bound(value.Index(i))
		}
	case value.Kind() == reflect.Map:
		boundMap(value)
	}
}

// boundMap bounds copies of a map's values and puts them back, because values in a map cannot be changed in place.
func boundMap(value reflect.Value) {
	for entries := value.MapRange(); entries.Next(); {
		changed := reflect.New(value.Type().Elem()).Elem()
		changed.Set(entries.Value())
		bound(changed)
		value.SetMapIndex(entries.Key(), changed)
	}
}

func limit(q *resource.Quantity) *resource.Quantity {
	return resource.NewQuantity(int64(q.Sign())*Max, resource.DecimalSI)
}

// beyond returns whether the magnitude of a quantity exceeds Max, or whether its exponent makes computing with it expensive: of a zero, or
// of a number below a nano-unit.
func beyond(q resource.Quantity) bool {
	if !q.IsZero() { // for a zero with the exponent n, AsInt64 would multiply by ten n times
		if whole, ok := q.AsInt64(); ok {
			return whole > Max || whole < -Max
		}
	}
	amount := q.AsDec() // AsDec changes q, which is a copy
	exponent := -int(amount.Scale())
	if amount.Sign() == 0 {
		return exponent < -digits || exponent > digits
	}
	// The number has length decimal digits or one less: a binary digit corresponds to 0.30103 decimal digits.
	if length := int(float64(amount.UnscaledBig().BitLen())*0.30103) + 1 + exponent; length > digits {
		return true
	}
	if exponent < -digits {
		return true // below a nano-unit, which the API server rounds away
	}
	return q.CmpInt64(Max) > 0 || q.CmpInt64(-Max) < 0
}

var known sync.Map // reflect.Type: whether it holds quantities

// holds returns whether values of a type can hold a quantity.
func holds(t reflect.Type) bool {
	if found, ok := known.Load(t); ok {
		return found.(bool) //nolint:forcetypeassert // stored below
	}
	found := search(t, map[reflect.Type]bool{})
	known.Store(t, found)
	return found
}

func search(t reflect.Type, visited map[reflect.Type]bool) bool {
	if t == of {
		return true
	}
	if visited[t] {
		return false // the type contains itself, and an outer call already searches it
	}
	visited[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return search(t.Elem(), visited)
	case reflect.Struct:
		for i := range t.NumField() {
			if field := t.Field(i); field.IsExported() && search(field.Type, visited) {
				return true
			}
		}
	}
	return false
}
