import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { useWidth } from '../parts/measured.ts';
import { Table } from '../parts/table.tsx';
import { address, followLink } from '../router.ts';
import { type Extension, toneOf } from './extension.ts';
import { BOX, draw, type Drawing, LEGIBLE, type Link, linksOf, type Room } from './graph.ts';

interface Look {
  /** The middle, in the drawing's own units. */
  readonly x: number;
  readonly y: number;
  /** 1: all of it is seen. */
  readonly zoom: number;
}

interface Drag {
  /** Where the pointer went down. */
  readonly x: number;
  readonly y: number;
  readonly from: Look;
}

/** A pointer that moves less is a click. */
const CLICK = 4;
const STEP = 1.4;
const MOST = 12;
const LARGEST = 1.25;
/** What is left below the header, the parts of the system and the buttons. */
const PART_OF_HEIGHT = 0.65;
const KEYS = ['+', '=', '-', '0', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'];

/** Extensions and what they need, drawn; the table below says the same in words. */
export default function GraphView({ extensions }: { readonly extensions: readonly Extension[] }): VNode {
  const links = useMemo(() => linksOf(extensions), [extensions]);
  const place = useRef<HTMLElement>(null);
  const width = useWidth(place);
  const room = useMemo(() => ({ width, height: innerHeight * PART_OF_HEIGHT }), [width]);
  const drawing = useMemo(() => draw(extensions, links, room), [extensions, links, room]);
  const alone = extensions.length - drawing.nodes.length;
  return (
    <>
      <figure class="graph" ref={place}>
        {width > 0 && <Picture drawing={drawing} room={room} />}
      </figure>
      <ul class="legend" aria-label="What the colours and lines mean">
        {(['active', 'idle', 'blocked', 'failed', 'disabled'] as const).map((state) => (
          <li key={state} class={toneOf(state)}>
            {state} {extensions.filter((each) => each.state === state).length}
          </li>
        ))}
        <li>solid: needs it · dashed: uses it where it is there</li>
        {alone > 0 && <li>{alone} have no line, and are in the table only</li>}
      </ul>
      <Table label="What extensions need" columns={['Extension', 'State', 'Needs', 'Uses where it is there', 'Provides to', 'Defines']}>
        {extensions.map((extension) => {
          const own = links.filter(({ from }) => from === extension.id);
          return (
            <tr key={extension.id}>
              <th scope="row" class="plain">
                <ExtensionLink id={extension.id} />
              </th>
              <td class={toneOf(extension.state)}>{extension.state}</td>
              <td>{namesOf(own.filter(({ isOptional }) => !isOptional))}</td>
              <td>{extension.optional_depends_on.filter((id) => own.some(({ to }) => to === id)).join(', ')}</td>
              <td>{own.flatMap(({ to, provides }) => (provides.length === 0 ? [] : `${to} (${provides.join(', ')})`)).join(', ')}</td>
              <td>{extension.defines.join(', ')}</td>
            </tr>
          );
        })}
      </Table>
    </>
  );
}

const namesOf = (links: readonly Link[]): string => links.map(({ to }) => to).join(', ');

function ExtensionLink({ id }: { readonly id: string }): VNode {
  return (
    <a href={address('system/extensions', id)} onClick={followLink}>
      {id}
    </a>
  );
}

/** The keys of a picture that has the focus are those of its buttons; it is dragged, too. */
function Picture({ drawing, room }: { readonly drawing: Drawing; readonly room: Room }): VNode {
  const { width, height } = drawing;
  const scale = Math.max(LEGIBLE, Math.min(LARGEST, room.width / width, room.height / height));
  const all: Look = { x: width / 2, y: height / 2, zoom: 1 };
  /** null: all of it, whatever is drawn. */
  const look = useSignal<Look | null>(null);
  const dragged = useSignal<Drag | null>(null);
  const shown = look.value ?? all;
  const { x, y, zoom } = shown;
  const size = { width: width / zoom, height: height / zoom };
  const set = (next: Look): void => {
    const within = (value: number, most: number): number => Math.min(Math.max(value, 0), most);
    look.value = { x: within(next.x, width), y: within(next.y, height), zoom: Math.min(Math.max(next.zoom, 1), MOST) };
  };
  const move = (right: number, down: number): void => set({ x: x + (right * size.width) / 8, y: y + (down * size.height) / 8, zoom });
  /** Where the keyboard goes, the picture follows. */
  const show = (node: Drawing['nodes'][number]): void => {
    const isSeen = Math.abs(node.x - x) <= (size.width - BOX.width) / 2 && Math.abs(node.y - y) <= (size.height - BOX.height) / 2;
    if (zoom > 1 && !isSeen) set({ x: node.x, y: node.y, zoom });
  };
  const press = (key: string): void => {
    if (key === '+' || key === '=') set({ x, y, zoom: zoom * STEP });
    if (key === '-') set({ x, y, zoom: zoom / STEP });
    if (key === '0') look.value = null;
    if (key === 'ArrowLeft' || key === 'ArrowRight') move(key === 'ArrowLeft' ? -1 : 1, 0);
    if (key === 'ArrowUp' || key === 'ArrowDown') move(0, key === 'ArrowUp' ? -1 : 1);
  };
  const drag = (event: PointerEvent & { readonly currentTarget: SVGSVGElement }): void => {
    const began = dragged.value;
    if (began === null) return;
    const scale = Math.max(size.width / event.currentTarget.clientWidth, size.height / event.currentTarget.clientHeight);
    set({ ...began.from, x: began.from.x - (event.clientX - began.x) * scale, y: began.from.y - (event.clientY - began.y) * scale });
  };
  return (
    <>
      <div class="row" role="toolbar" aria-label="Zoom">
        <button type="button" onClick={() => press('+')}>
          Zoom in <kbd>+</kbd>
        </button>
        <button type="button" onClick={() => press('-')} disabled={zoom === 1}>
          Zoom out <kbd>-</kbd>
        </button>
        <button type="button" onClick={() => press('0')} disabled={zoom === 1}>
          Fit <kbd>0</kbd>
        </button>
      </div>
      <div class="scroll">
        <svg
          class={zoom > 1 ? 'close' : ''}
          style={{ minWidth: `${width * scale}px` }}
          height={height * scale}
          role="group"
          aria-label="Graph of extensions; plus and minus zoom, arrows move"
          tabindex={0}
          viewBox={`${x - size.width / 2} ${y - size.height / 2} ${size.width} ${size.height}`}
          onKeyDown={(event) => {
            if (event.ctrlKey || event.metaKey || event.altKey || !KEYS.includes(event.key)) return;
            event.preventDefault();
            press(event.key);
          }}
          onPointerDown={(event) => (dragged.value = { x: event.clientX, y: event.clientY, from: shown })}
          onPointerMove={drag}
          onClickCapture={(event) => {
            const began = dragged.value;
            dragged.value = null;
            if (began !== null && Math.hypot(event.clientX - began.x, event.clientY - began.y) > CLICK) event.preventDefault();
          }}
          onPointerLeave={() => (dragged.value = null)}
        >
          {drawing.lines.map(({ link, points }) => (
            <polyline
              key={`${link.from} ${link.to}`}
              class={link.isOptional ? 'line optional' : 'line'}
              points={points.map((point) => `${point.x},${point.y}`).join(' ')}
            >
              <title>{`${link.from} ${link.isOptional ? 'uses' : 'needs'} ${link.to}${link.provides.length > 0 ? `: ${link.provides.join(', ')}` : ''}`}</title>
            </polyline>
          ))}
          {drawing.nodes.map((node) => {
            const { extension, x: middle, y: centre } = node;
            return (
              <a
                key={extension.id}
                href={address('system/extensions', extension.id)}
                onClick={followLink}
                onFocus={({ currentTarget }) => currentTarget.matches(':focus-visible') && show(node)}
                class={`node ${toneOf(extension.state)}`}
              >
                <title>{`${extension.id}: ${extension.state}. ${extension.description}`}</title>
                <rect x={middle - BOX.width / 2} y={centre - BOX.height / 2} width={BOX.width} height={BOX.height} rx="5" />
                <text x={middle} y={centre - 1}>
                  {extension.id}
                </text>
                <text class="state" x={middle} y={centre + 11}>
                  {extension.state}
                </text>
              </a>
            );
          })}
        </svg>
      </div>
    </>
  );
}
