import { Graph, layout } from '@dagrejs/dagre';
import type { Extension } from './extension.ts';

/** Why one extension has a line to another. */
export interface Link {
  readonly from: string;
  readonly to: string;
  /** It runs without the other, too. */
  readonly isOptional: boolean;
  /** Protocols of the other that it provides. */
  readonly provides: readonly string[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Middles of boxes. */
  readonly nodes: readonly ({ readonly extension: Extension } & Point)[];
  readonly lines: readonly { readonly link: Link; readonly points: readonly Point[] }[];
}

/** What a drawing is to fit into, in pixels. */
export interface Room {
  readonly width: number;
  readonly height: number;
}

const MARGIN = 8;
/** A smaller drawing is scrolled in place of shrunk: its names could not be read. */
export const LEGIBLE = 0.85;
export const BOX = { width: 170, height: 34 };
/** From a box to the next one, and from a line that passes a column to what is next in it. */
const STEP = { across: BOX.width + 60, down: BOX.height + 12, line: 12 };

/** Lines between extensions that are here: what each depends on, and whose protocols it provides. */
export function linksOf(extensions: readonly Extension[]): readonly Link[] {
  const ids = new Set(extensions.map(({ id }) => id));
  const owners = new Map(extensions.flatMap(({ id, defines }) => defines.map((protocol) => [protocol, id] as const)));
  return extensions.flatMap(({ id: from, depends_on: needs, optional_depends_on: uses, provides }) => {
    const owned = provides.flatMap((protocol) => owners.get(protocol) ?? []);
    const targets = new Set([...needs, ...uses, ...owned].filter((to) => to !== from && ids.has(to)));
    return [...targets].map((to): Link => ({
      from,
      to,
      isOptional: !needs.includes(to),
      provides: provides.filter((protocol) => owners.get(protocol) === to),
    }));
  });
}

/** Places those that have a line, from those that need to those that are needed, in the columns that use the room best. */
export function draw(extensions: readonly Extension[], links: readonly Link[], room: Room): Drawing {
  const joined = [...new Set(links.flatMap(({ from, to }) => [from, to]))];
  const columns = columnsFor(joined, links, room);
  const ways = links.map((link) => ({ link, way: wayOf(link, columns) }));
  const places = placesIn(
    columns,
    ways.map(({ way }) => way),
  );
  const { width, height } = sizeOf(columns, links);
  const end = ({ x, y }: Point, side: -1 | 1): Point => ({ x: x + (side * BOX.width) / 2, y });
  return {
    width,
    height,
    nodes: extensions.flatMap((extension) => {
      const place = places.get(extension.id);
      return place === undefined ? [] : [{ extension, ...place }];
    }),
    lines: ways.map(({ link, way }) => {
      const points = way.flatMap((stop) => places.get(stop) ?? []);
      return { link, points: points.flatMap((point) => [end(point, -1), end(point, 1)]).slice(1, -1) };
    }),
  };
}

/** The column of each, counted from those that need nothing. */
type Columns = ReadonlyMap<string, number>;

/** Of columns of different heights those in which the drawing is largest. */
function columnsFor(ids: readonly string[], links: readonly Link[], room: Room): Columns {
  let best: { readonly columns: Columns; readonly scale: number } = { columns: new Map(), scale: 0 };
  for (let most = ids.length; most > 0; most = Math.floor(most * 0.9)) {
    const columns = columnsOf(ids, links, most);
    const { width, height } = sizeOf(columns, links);
    if (room.width / width < LEGIBLE && best.scale > 0) break;
    const scale = Math.min(1, room.width / width, room.height / height);
    if (scale > best.scale) best = { columns, scale };
  }
  return best.columns;
}

/** Columns of at most so many: each is behind all that it needs, and those that others need come first. */
function columnsOf(ids: readonly string[], links: readonly Link[], most: number): Columns {
  const needed = new Set(links.map(({ to }) => to));
  const left = new Set([...ids].sort((one, other) => Number(needed.has(other)) - Number(needed.has(one))));
  const columns = new Map<string, number>();
  for (let column = 0; left.size > 0; column += 1) {
    const isReady = (id: string): boolean => links.every(({ from, to }) => from !== id || !left.has(to));
    const ready = [...left].filter(isReady).slice(0, most);
    const chosen = ready.length > 0 ? ready : [...left].slice(0, 1); // they use each other
    for (const id of chosen) columns.set(id, column);
    for (const id of chosen) left.delete(id);
  }
  return columns;
}

/** Where a line goes, column by column: lines to the same box pass a column together. */
function wayOf({ from, to }: Link, columns: Columns): readonly string[] {
  const [first, last] = [columns.get(from) ?? 0, columns.get(to) ?? 0];
  const passed = Array.from({ length: Math.max(0, first - last - 1) }, (_, at) => `${first - 1 - at} ${to}`);
  return [from, ...passed, to];
}

/** A box, or lines that pass its column. */
const columnOf = (stop: string, columns: Columns): number => columns.get(stop) ?? Number.parseInt(stop, 10);
const heightOf = (stop: string, columns: Columns): number => (columns.has(stop) ? STEP.down : STEP.line);

function sizeOf(columns: Columns, links: readonly Link[]): Room {
  const heights = new Map<number, number>();
  for (const stop of new Set([...columns.keys(), ...links.flatMap((link) => wayOf(link, columns))])) {
    const column = columnOf(stop, columns);
    heights.set(column, (heights.get(column) ?? 0) + heightOf(stop, columns));
  }
  return {
    width: heights.size * STEP.across - (STEP.across - BOX.width) + 2 * MARGIN,
    height: Math.max(0, ...heights.values()) + 2 * MARGIN,
  };
}

/** The middle of each box, and of where lines pass. Their order within a column is one in which few lines cross. */
function placesIn(columns: Columns, ways: readonly (readonly string[])[]): ReadonlyMap<string, Point> {
  const graph = new Graph().setGraph({ rankdir: 'LR' });
  for (const stop of new Set([...columns.keys(), ...ways.flat()])) graph.setNode(stop, { width: 1, height: heightOf(stop, columns) });
  for (const way of ways) for (const [at, stop] of way.slice(1).entries()) graph.setEdge(String(way[at]), stop, {});
  layout(graph);
  const orderOf = (stop: string): number => (graph.node(stop) as { readonly y?: number }).y ?? 0;
  const stops = [...graph.nodes()].sort((one, other) => orderOf(one) - orderOf(other));
  const heights = new Map<number, number>();
  const tops = stops.map((stop) => {
    const column = columnOf(stop, columns);
    const top = heights.get(column) ?? 0;
    heights.set(column, top + heightOf(stop, columns));
    return { stop, column, middle: top + heightOf(stop, columns) / 2 };
  });
  const [first, tallest] = [Math.max(...heights.keys()), Math.max(...heights.values())];
  return new Map(
    tops.map(({ stop, column, middle }) => [
      stop,
      {
        x: MARGIN + BOX.width / 2 + (first - column) * STEP.across,
        y: MARGIN + middle + (tallest - (heights.get(column) ?? 0)) / 2,
      },
    ]),
  );
}
