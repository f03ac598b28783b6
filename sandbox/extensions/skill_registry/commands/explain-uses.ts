import { codeOf, type AgentSpec, type CommandContext, type Database, type JsonValue } from 'pith';
import type { Skill } from '../skill.ts';

const DAY_MS = 86_400_000;
const DAYS = 30;
const SHOWN = 5;

/** What the ledger knows of a skill's last uses; null where the command runs without a database. */
export async function usesOf(
  context: CommandContext & { readonly database?: Database },
  { id }: Skill,
  agent: AgentSpec | null,
): Promise<{ readonly json: readonly JsonValue[]; readonly lines: readonly string[] } | null> {
  const { database, clock } = context;
  if (database === undefined) return null;
  const { recentUses } = await import('../ledger/recent.ts');
  const { stateText, timeOf, turnJson } = await import('./stats.ts');
  const filter = { since: clock.now() - DAYS * DAY_MS, ...(agent === null ? {} : { agent: agent.id }) };
  const uses = recorded(() => recentUses(database, id, filter, SHOWN));
  if (uses === null) return null;
  const lines = uses.map((use) => `used ${timeOf(use.at)} by ${use.agent}: ${stateText(use)}`);
  return { json: uses.map(turnJson), lines: lines.length === 0 ? [`not used in the last ${DAYS} days`] : lines };
}

/** null in a separate process, where the database is refused. */
function recorded<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (codeOf(error, '') === 'not_supported_yet') return null;
    throw error;
  }
}
