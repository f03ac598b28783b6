import { describe, expect, it } from 'vitest';
import { BOX, draw, LEGIBLE, linksOf } from '../../../sandbox/extensions/web_channel/page/system/graph.ts';

const ROOM = { width: 1200, height: 520 };

const extension = (id: string, needs: readonly string[]) => ({
  id,
  state: 'active',
  shipped: true,
  tier: null,
  version: '1.0.0',
  description: '',
  provides: [],
  depends_on: needs,
  optional_depends_on: [],
  defines: [],
});

/** As what ships: one is needed by many, and some of those by others. */
const MANY = [
  extension('hub', []),
  ...Array.from({ length: 24 }, (_, at) => extension(`near-${at}`, ['hub'])),
  ...Array.from({ length: 6 }, (_, at) => extension(`far-${at}`, [`near-${at}`, 'hub'])),
];

describe('the graph of extensions', () => {
  it('W15 uses the room that there is: thirty boxes are seen at once, so large that their names can be read', () => {
    const { width, height, nodes, lines } = draw(MANY, linksOf(MANY), ROOM);
    expect(Math.min(ROOM.width / width, ROOM.height / height)).toBeGreaterThan(LEGIBLE);
    const boxes = nodes.map(({ x, y }) => ({ left: x - BOX.width / 2, top: y - BOX.height / 2 }));
    for (const { left, top } of boxes) {
      expect([left >= 0, top >= 0, left + BOX.width <= width, top + BOX.height <= height]).toEqual([true, true, true, true]);
      const over = boxes.filter((other) => Math.abs(other.left - left) < BOX.width && Math.abs(other.top - top) < BOX.height);
      expect(over).toHaveLength(1);
    }
    const at = (id: string) => nodes.find(({ extension: each }) => each.id === id)!;
    for (const { link, points } of lines) {
      expect(points[0]).toEqual({ x: at(link.from).x + BOX.width / 2, y: at(link.from).y });
      expect(points.at(-1)).toEqual({ x: at(link.to).x - BOX.width / 2, y: at(link.to).y });
    }
  });

  it('W15 is drawn also where extensions use each other, and where there is no line', () => {
    const ring = [extension('one', ['two']), extension('two', ['one'])];
    expect(draw(ring, linksOf(ring), ROOM).nodes).toHaveLength(2);
    expect(draw([extension('one', [])], [], ROOM).nodes).toEqual([]);
  });
});
