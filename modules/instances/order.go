package instances

import (
	"encoding/json"
	"fmt"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core"
)

// newOrder returns the request for an instance, and the part of it that the engine needs.
func newOrder(cfg *settings, spec Spec) (Creation, *core.Order, error) {
	const op = "create"
	if err := spec.check(op, cfg.own); err != nil {
		return Creation{}, nil, err
	}
	data, err := spec.UserData.encode(op)
	if err != nil {
		return Creation{}, nil, err
	}
	who := cfg.own.ID(spec.Claimant)
	creation := Creation{
		Spec: spec, Label: Label(cfg.LabelPrefix, spec.Claimant.Name), UserData: data,
		Tags: cfg.own.ClaimTags(who, spec.Tags...), Off: len(spec.Storage.Data) > 0,
	}
	if creation.Off {
		creation.Tags = append(creation.Tags, cfg.own.Unfinished)
	}
	form, err := formOf(spec)
	if err != nil {
		return Creation{}, nil, claims.Invalid(op, "Spec", "%w", err)
	}
	order := &core.Order{
		Who: who, Label: creation.Label, InstanceType: spec.InstanceType, Tags: creation.Tags,
		Capacity: fmt.Sprint(spec.InstanceType, " ", spec.Region, " ", spec.PlacementGroup.ID), Form: form,
	}
	for _, disk := range spec.Storage.Data {
		order.Data = append(order.Data, disk.Label)
	}
	return creation, order, nil
}

// formOf returns the request without the values that belong to its claimant.
func formOf(spec Spec) (string, error) {
	spec.Claimant, spec.UserData = claims.Claimant{}, UserData{}
	text, err := json.Marshal(spec)
	return string(text), err
}
