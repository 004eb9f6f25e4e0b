// Draws a dashboard with Grafana's own components, as its panels "Time series" and "Table" do, from answers of a Prometheus
// that ../cmd/panels has asked: the page that tools/make/pictures.sh photographs. It is no Grafana: there are no menus, and
// the dashboard's variables have the value All.
import { applyFieldOverrides, createTheme, dateTime, EventBusSrv, FieldColorModeId, FieldType, ThemeContext, toDataFrame, type DataFrame, type FieldConfigSource, type TimeRange } from '@grafana/data';
import { GlobalStyles, PanelChrome, PanelContextProvider, Table, TimeSeries } from '@grafana/ui';
import type { Panel, RowPanel } from '@grafana/schema';
import { createRoot } from 'react-dom/client';
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

function rows(panel: Panel): DataFrame[] {
	const series = (panel.targets as unknown as Target[]).flatMap((target) => answered.answers[panel.id!]?.[target.refId] ?? []);
	const names = [...new Set(series.flatMap(({ metric }) => Object.keys(metric)))].sort();
	const last = series.map(({ values }) => values[values.length - 1]);
	return [
		toDataFrame({
			fields: [
				{ name: 'Time', type: FieldType.time, values: last.map(([at]) => at * 1000) },
				...names.map((name) => ({ name, type: FieldType.string, values: series.map(({ metric }) => metric[name] ?? '') })),
				{ name: 'Value', type: FieldType.number, values: last.map(([, value]) => Number(value)) },
			],
		}),
	];
}

// Grafana itself has the registry of options that would take the defaults over into the fields.
function drawn(panel: Panel): DataFrame[] {
	const source = panel.fieldConfig as FieldConfigSource;
	const defaults = { color: { mode: FieldColorModeId.PaletteClassic }, ...source.defaults };
	const frames = panel.type === 'table' ? rows(panel) : lines(panel);
	for (const field of frames.flatMap(({ fields }) => fields)) {
		if (field.type === FieldType.number) {
			field.config = { ...defaults, ...field.config };
		}
	}
	return applyFieldOverrides({ data: frames, fieldConfig: source, replaceVariables: (text) => text, theme, timeZone: 'utc' });
}

function Contents({ panel, width, height }: { panel: Panel; width: number; height: number }) {
	const frames = drawn(panel);
	if (frames.every((frame) => frame.length === 0)) {
		return <div style={{ display: 'grid', placeItems: 'center', width, height, color: theme.colors.text.secondary }}>No data</div>;
	}
	if (panel.type === 'table') {
		return <Table data={frames[0]} width={width} height={height} />;
	}
	const options = panel.options as { legend: never };
	return <TimeSeries frames={frames} width={width} height={height} timeRange={range} timeZone="utc" legend={options.legend} options={options} />;
}

function Board() {
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
									{(width, inner) => <Contents panel={panel as Panel} width={width} height={inner} />}
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
createRoot(document.getElementById('board')!).render(<Board />);
