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

export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Middles of boxes. */
  readonly nodes: readonly { readonly extension: Extension; readonly x: number; readonly y: number }[];
  readonly lines: readonly { readonly link: Link; readonly points: readonly { readonly x: number; readonly y: number }[] }[];
}

const MARGIN = 8;
export const BOX = { width: 170, height: 34 };

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

/** Places those that have a line, from those that need to those that are needed. */
export function draw(extensions: readonly Extension[], links: readonly Link[]): Drawing {
  const graph = new Graph().setGraph({ rankdir: 'LR', nodesep: 12, ranksep: 70, marginx: MARGIN, marginy: MARGIN });
  const joined = new Set(links.flatMap(({ from, to }) => [from, to]));
  for (const { id } of extensions) if (joined.has(id)) graph.setNode(id, { ...BOX });
  for (const { from, to } of links) graph.setEdge(from, to, {});
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { readonly width?: number; readonly height?: number };
  const lines = links.map((link): Drawing['lines'][number] => {
    const { points = [] } = graph.edge(link.from, link.to) as { readonly points?: Drawing['lines'][number]['points'] };
    return { link, points };
  });
  const ends = lines.flatMap(({ points }) => points); // some lines go around all boxes
  return {
    width: Math.max(width, BOX.width, ...ends.map(({ x }) => x + MARGIN)),
    height: Math.max(height, BOX.height, ...ends.map(({ y }) => y + MARGIN)),
    nodes: extensions
      .filter(({ id }) => joined.has(id))
      .map((extension) => {
        const { x = 0, y = 0 } = graph.node(extension.id) as { readonly x?: number; readonly y?: number };
        return { extension, x, y };
      }),
    lines,
  };
}
