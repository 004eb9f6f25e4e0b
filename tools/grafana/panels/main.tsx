// Draws a dashboard with Grafana's own components, as its panels "Stat", "Time series" and "Table" do, from answers of a Prometheus
// that ../cmd/panels has asked: the page that tools/make/pictures.sh photographs. It is no Grafana: there are no menus, and
// the dashboard's variables have the value All.
import { applyFieldOverrides, createTheme, dateTime, EventBusSrv, FieldColorModeId, FieldType, standardTransformers, standardTransformersRegistry, ThemeContext, toDataFrame, transformDataFrame, type DataFrame, type FieldConfigSource, type TimeRange } from '@grafana/data';
import { BigValue, BigValueColorMode, BigValueGraphMode, GlobalStyles, PanelChrome, PanelContextProvider, Table, TimeSeries } from '@grafana/ui';
import type { Panel, RowPanel } from '@grafana/schema';
import { createRoot } from 'react-dom/client';
import { firstValueFrom } from 'rxjs';
import 'uplot/dist/uPlot.min.css';

interface Series {
	metric: Record<string, string>;
	values: Array<[seconds: number, value: string]>; // as Prometheus' own interface has them
}
interface Target {
	refId: string;
	legendFormat?: string;
	format?: string;
}
interface Answered {
	from: number; // milliseconds
	to: number;
	step: number;
	dashboard: { title: string; panels: Array<Panel | RowPanel> };
	answers: Record<string, Record<string, Series[]>>; // by panel and query
}

// Grafana's grid has 24 columns; a picture is small.
const board = 1200;
const column = board / 24;
const cell = 20;
const gap = 6;
const theme = createTheme({ colors: { mode: 'dark' } });
const answered: Answered = JSON.parse(document.getElementById('answered')!.textContent!);
const range: TimeRange = { from: dateTime(answered.from), to: dateTime(answered.to), raw: { from: dateTime(answered.from), to: dateTime(answered.to) } };

const legend = (format: string | undefined, metric: Record<string, string>): string =>
	format ? format.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => metric[label] ?? '') : Object.values(metric).join(' ');

// Where a series has no value its line is interrupted.
function filled(values: Series['values']): Array<[at: number, value: number | null]> {
	const known = new Map(values.map(([at, value]) => [Math.round(at * 1000), Number(value)]));
	const steps = Array.from({ length: Math.floor((answered.to - answered.from) / answered.step) + 1 }, (_, i) => answered.from + i * answered.step);
	return steps.map((at) => [at, Number.isFinite(known.get(at)) ? known.get(at)! : null]);
}

function lines(panel: Panel): DataFrame[] {
	return (panel.targets as unknown as Target[]).flatMap((target) =>
		(answered.answers[panel.id!]?.[target.refId] ?? []).map(({ metric, values }) => {
			const line = filled(values);
			return toDataFrame({
				refId: target.refId,
				fields: [
					{ name: 'Time', type: FieldType.time, values: line.map(([at]) => at) },
					{ name: 'Value', type: FieldType.number, labels: metric, values: line.map(([, value]) => value), config: { displayNameFromDS: legend(target.legendFormat, metric) } },
				],
			});
		}),
	);
}

// A frame for each query, as Grafana's data source makes tables of instant queries: all of them are of one time.
function rows(panel: Panel): DataFrame[] {
	const targets = panel.targets as unknown as Target[];
	return targets.map(({ refId }) => {
		const series = answered.answers[panel.id!]?.[refId] ?? [];
		const names = [...new Set(series.flatMap(({ metric }) => Object.keys(metric)))].sort();
		const last = series.map(({ values }) => values[values.length - 1]);
		return toDataFrame({
			refId,
			fields: [
				{ name: 'Time', type: FieldType.time, values: last.map(() => answered.to) },
				...names.map((name) => ({ name, type: FieldType.string, values: series.map(({ metric }) => metric[name] ?? '') })),
				{ name: targets.length > 1 ? `Value #${refId}` : 'Value', type: FieldType.number, values: last.map(([, value]) => Number(value)) },
			],
		});
	});
}

const { mergeTransformer, organizeFieldsTransformer } = standardTransformers;
standardTransformersRegistry.setInit(() =>
	[mergeTransformer, organizeFieldsTransformer].map((info) => ({ id: info.id, name: info.name, transformation: async () => info, editor: () => null, imageDark: '', imageLight: '' })),
);

// Grafana itself has the registry of options that would take the defaults and the overrides over into the fields.
async function drawn(panel: Panel): Promise<DataFrame[]> {
	const source = panel.fieldConfig as FieldConfigSource;
	const defaults = { color: { mode: FieldColorModeId.PaletteClassic }, ...source.defaults };
	const read = panel.type === 'table' ? rows(panel) : lines(panel);
	const frames = await firstValueFrom(transformDataFrame(panel.transformations ?? [], read.filter(({ length }) => length > 0)));
	for (const field of frames.flatMap(({ fields }) => fields)) {
		const chosen = source.overrides.filter(({ matcher }) => matcher.id === 'byName' && matcher.options === field.name).flatMap(({ properties }) => properties);
		const width = chosen.find(({ id }) => id === 'custom.width')?.value;
		const custom = { ...source.defaults.custom, ...(width ? { width } : {}) };
		if (field.type === FieldType.number) {
			field.config = { ...defaults, ...Object.fromEntries(chosen.map(({ id, value }) => [id, value])), ...field.config };
		}
		field.config = { ...field.config, custom };
	}
	return applyFieldOverrides({ data: frames, fieldConfig: { defaults: source.defaults, overrides: [] }, replaceVariables: (text) => text, theme, timeZone: 'utc' });
}

function Stat({ frame, width, height }: { frame: DataFrame; width: number; height: number }) {
	const [, field] = frame.fields;
	const last = field.values.findLast((value) => value !== null);
	const value = { ...field.display!(last), title: '' };
	return <BigValue theme={theme} width={width} height={height} value={value} colorMode={BigValueColorMode.Value} graphMode={BigValueGraphMode.None} />;
}

function Contents({ panel, frames, width, height }: { panel: Panel; frames: DataFrame[]; width: number; height: number }) {
	if (frames.every((frame) => frame.length === 0)) {
		return <div style={{ display: 'grid', placeItems: 'center', width, height, color: theme.colors.text.secondary }}>No data</div>;
	}
	if (panel.type === 'stat') {
		return <Stat frame={frames[0]} width={width} height={height} />;
	}
	if (panel.type === 'table') {
		return <Table data={frames[0]} width={width} height={height} />;
	}
	const options = panel.options as { legend: never };
	return <TimeSeries frames={frames} width={width} height={height} timeRange={range} timeZone="utc" legend={options.legend} options={options} />;
}

function Board({ frames }: { frames: Map<number, DataFrame[]> }) {
	const panels = answered.dashboard.panels;
	const height = Math.max(...panels.map(({ gridPos }) => gridPos!.y + gridPos!.h)) * (cell + gap);
	return (
		<ThemeContext.Provider value={theme}>
			<GlobalStyles />
			<PanelContextProvider value={{ eventsScope: 'global', eventBus: new EventBusSrv() }}>
				<div style={{ position: 'relative', width: board, height, margin: gap, background: theme.colors.background.canvas }}>
					{panels.map((panel) => {
						const { x, y, w, h } = panel.gridPos!;
						const place = { position: 'absolute' as const, left: x * column, top: y * (cell + gap), width: w * column - gap, height: h * (cell + gap) - gap };
						if (panel.type === 'row') {
							return <h2 key={panel.id} style={{ ...place, fontSize: 16, lineHeight: `${cell}px` }}>{panel.title}</h2>;
						}
						return (
							<div key={panel.id} style={place}>
								<PanelChrome title={panel.title} width={place.width} height={place.height}>
									{(width, inner) => <Contents panel={panel as Panel} frames={frames.get(panel.id!)!} width={width} height={inner} />}
								</PanelChrome>
							</div>
						);
					})}
				</div>
			</PanelContextProvider>
		</ThemeContext.Provider>
	);
}

document.body.style.background = theme.colors.background.canvas;
const panels = answered.dashboard.panels.filter(({ type }) => type !== 'row') as Panel[];
Promise.all(panels.map(async (panel): Promise<[number, DataFrame[]]> => [panel.id!, await drawn(panel)])).then((frames) =>
	createRoot(document.getElementById('board')!).render(<Board frames={new Map(frames)} />),
);
