package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// lists holds what the API lists without a token.
type lists struct {
	types        []api.LinodeType
	regions      []api.Region
	availability []api.RegionAvailability
}

func read(ctx context.Context, client *http.Client, address string) (out lists, err error) {
	if out.types, err = list[api.LinodeType](ctx, client, address+"/linode/types"); err != nil {
		return out, err
	}
	if out.regions, err = list[api.Region](ctx, client, address+"/regions"); err != nil {
		return out, err
	}
	out.availability, err = list[api.RegionAvailability](ctx, client, address+"/regions/availability")
	return out, err
}

// list reads all pages, with no token.
func list[T any](ctx context.Context, client *http.Client, address string) (all []T, err error) {
	for page, pages := 1, 1; page <= pages; page++ {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s?page=%d&page_size=500", address, page), nil)
		if err != nil {
			return nil, err
		}
		answer, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		var envelope struct {
			Data  []T `json:"data"`
			Pages int `json:"pages"`
		}
		err = json.NewDecoder(answer.Body).Decode(&envelope)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("GET %s: %s", address, answer.Status)
		}
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", address, err)
		}
		all, pages = append(all, envelope.Data...), envelope.Pages
	}
	return all, nil
}
