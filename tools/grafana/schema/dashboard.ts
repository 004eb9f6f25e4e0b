// What a dashboard of this repository may be: Grafana's own schema with nothing beside it. The schema leaves open what panels
// and data sources add; here each panel has the options of its type, and each query the fields of Prometheus'.
//
// tools/charttest compiles the chart's dashboard as a literal of this type.
import type * as grafana from '@grafana/schema';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type * as timeseries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import type { Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';

// A member of an enumeration is written as its value in JSON.
type InJSON<T> = T extends string ? `${T}` : T extends number ? (`${T}` extends `${infer N extends number}` ? N : T) : T extends object ? { [K in keyof T]: InJSON<T[K]> } : T;

interface Source {
	type: 'prometheus';
	uid: '${datasource}';
}
type Query = Omit<Dataquery, 'datasource' | 'refId' | '_implementsDataqueryVariant'> & { refId: string; datasource: Source };

type PanelOf<Type extends string, Options, Custom> = Omit<grafana.Panel, 'type' | 'title' | 'id' | 'gridPos' | 'datasource' | 'targets' | 'options' | 'fieldConfig'> & {
	type: Type;
	id: number;
	title: string;
	description: string;
	gridPos: grafana.GridPos;
	datasource: Source;
	targets: Query[];
	options: Options;
	fieldConfig: { defaults: Omit<grafana.FieldConfig, 'custom'> & { custom?: Partial<Custom> }; overrides: grafana.FieldConfigSource['overrides'] };
};

type Panel =
	| PanelOf<'stat', stat.Options, Record<string, never>>
	| PanelOf<'timeseries', timeseries.Options, timeseries.FieldConfig>
	| PanelOf<'table', table.Options, table.FieldConfig>
	| (Omit<grafana.RowPanel, 'panels'> & { panels: [] });

export type Dashboard = InJSON<Omit<grafana.Dashboard, 'panels'> & { uid: string; title: string; panels: Panel[] }>;
