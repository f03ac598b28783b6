import { catalogLine, clean } from '../catalog/brief.ts';
import { estimateTokens } from '../catalog/token-estimate.ts';
import type { Skill } from '../skill.ts';

export interface RegistryText {
  readonly text: string;
  /** Of how many skills, in their order, it says the name. */
  readonly told: number;
}

/** Names and brief descriptions of all skills, sorted by id, in what `before` leaves of 400 tokens. With many, briefs get shorter, then fewer are named. */
export function registryText(skills: readonly Skill[], before: readonly string[] = []): RegistryText {
  const room = BUDGET - before.reduce((sum, line) => sum + estimateTokens(line) + 1, 0) - FRAME;
  for (const limit of [160, 80, 50, 30]) {
    if (skills.length > MOST_LINES) break;
    const lines = skills.map((skill) => catalogLine(skill, limit));
    if (tokensOf(lines) <= room) return { text: [HEAD, ...lines, USE].join('\n'), told: skills.length };
  }
  const { lines, told } = fewer(skills, room);
  return { text: [HEAD, ...lines, USE].join('\n'), told };
}

const BUDGET = 400;
const HEAD = '[Available Skills]';
const USE = 'Name a skill to use it; read_skill(skill_id) loads its instructions.';
/** Tokens of the head, of the last line and of the line that counts the rest. */
const FRAME = 70;
/** No line has less than five tokens. */
const MOST_LINES = 80;

/** The first ones with a brief, as many as fit into half of the room; of the others the ids; at last how many more there are. */
function fewer(skills: readonly Skill[], room: number): { readonly lines: readonly string[]; readonly told: number } {
  const lines: string[] = [];
  let left = room / 2;
  for (const skill of skills) {
    const line = catalogLine(skill, 50);
    left -= tokensOf([line]);
    if (left < 0) break;
    lines.push(line);
  }
  const ids = skills.slice(lines.length).map(({ id }) => clean(id));
  let shown = 0;
  let names = '';
  for (left = room - tokensOf(lines); shown < ids.length; shown++) {
    const next = shown === 0 ? `Others: ${ids[shown]!}` : `${names}, ${ids[shown]!}`;
    if (tokensOf([next]) > left) break;
    names = next;
  }
  const more = ids.length - shown;
  const rest = [...(shown === 0 ? [] : [names]), ...(more === 0 ? [] : [`${more} more — name one by its id to use it`])];
  return { lines: [...lines, ...rest], told: skills.length - more };
}

function tokensOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + estimateTokens(line) + 1, 0);
}
