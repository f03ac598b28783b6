import type { Need } from 'pith/http';
import type { PagedList } from './pages.ts';

/** A command as a route: what has `{name}` in its path is an argument; the rest, and the options, are the query of a GET or the body. */
export interface CommandRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly command: string;
  readonly need: Need;
  /** Options with a fixed value, which the caller does not set. */
  readonly fixed?: Readonly<Record<string, string | boolean>>;
  /** The command shows something and asks: answered 409 with what was shown and its digest, until that digest is in `confirm`. */
  readonly asks?: true;
  /** Its answer has a secret, which is kept nowhere: a repeated request is a new one. */
  readonly shownOnce?: true;
  /** What it lists may be long. */
  readonly list?: PagedList;
  /** Fields that a form sends back: what people wrote there stays as it is, paths too. */
  readonly written?: readonly string[];
  /** Fields that change by themselves, or with something else: its tag leaves them out. */
  readonly untagged?: readonly string[];
  /** Begins each of its `values`, with the names of the path in it. */
  readonly above?: string;
  /** It may replace this extension. */
  readonly mayReplace?: true;
  /** Its answer has findings, whose cures are data. */
  readonly findings?: true;
  /** It is about an agent: where none is named about the one that the caller gets then. */
  readonly ofAgent?: true;
}

const YES = { yes: true };
/** No caller names a file of this machine. */
const NO_FILE = { file: false };
/** Of settings: the line of each, which moves with others. */
const OF_SETTINGS = { written: ['values'], untagged: ['set'] };

/** Whoever is signed in. What it answers depends on who asks where the command says so: saved skills, runs, tasks and jobs have owners. */
const USERS: readonly CommandRoute[] = [
  { method: 'GET', path: '/api/agents', command: 'agents list', need: 'user' },
  { method: 'GET', path: '/api/models', command: 'model list', need: 'user' },
  { method: 'GET', path: '/api/models/chosen', command: 'model', need: 'user' },
  { method: 'GET', path: '/api/tools', command: 'tools list', need: 'user', ofAgent: true },
  { method: 'GET', path: '/api/recipes', command: 'recipes list', need: 'user' },
  { method: 'GET', path: '/api/recipes/{name}', command: 'recipes show', need: 'user' },
  {
    method: 'GET',
    path: '/api/skills',
    command: 'skills list',
    need: 'user',
    list: { name: 'skills', row: ['source', 'id'] },
    findings: true,
  },
  { method: 'GET', path: '/api/all-skills/counts', command: 'skills count', need: 'user' },
  { method: 'GET', path: '/api/all-skills/search', command: 'skills search', need: 'user' },
  { method: 'GET', path: '/api/skills/{id}', command: 'skills show', need: 'user', findings: true },
  { method: 'GET', path: '/api/skills/{id}/explain', command: 'skills explain', need: 'user', findings: true },
  { method: 'GET', path: '/api/skills/{id}/history', command: 'skills history', need: 'user' },
  { method: 'GET', path: '/api/skills/{id}/diff', command: 'skills diff', need: 'user' },
  { method: 'GET', path: '/api/skills/{id}/resources', command: 'skills resources', need: 'user' },
  { method: 'GET', path: '/api/saved', command: 'saved list', need: 'user', list: { name: 'saved', row: ['id'] } },
  { method: 'POST', path: '/api/saved', command: 'saved new', need: 'user', fixed: NO_FILE },
  {
    method: 'GET',
    path: '/api/saved/{skill}',
    command: 'saved show',
    need: 'user',
    written: ['description', 'system_prompt', 'input_schema', 'output_target'],
    untagged: ['last_scheduled_run_at', 'next_run_at', 'next_runs'],
  },
  { method: 'PATCH', path: '/api/saved/{skill}', command: 'saved edit', need: 'user', fixed: NO_FILE },
  { method: 'GET', path: '/api/saved/{skill}/versions', command: 'saved versions', need: 'user' },
  { method: 'DELETE', path: '/api/saved/{skill}', command: 'saved delete', need: 'user', fixed: YES },
  { method: 'PUT', path: '/api/saved/{skill}/schedule', command: 'saved schedule', need: 'user' },
  { method: 'PUT', path: '/api/saved/{skill}/visibility', command: 'saved share', need: 'user' },
  { method: 'PUT', path: '/api/saved/{skill}/priority', command: 'saved set-priority', need: 'user', asks: true },
  { method: 'PUT', path: '/api/saved/{skill}/tool', command: 'saved expose', need: 'user' },
  { method: 'PUT', path: '/api/saved/{skill}/retired', command: 'saved retire', need: 'user' },
  { method: 'POST', path: '/api/saved/{skill}/runs', command: 'run', need: 'user', fixed: { background: true } },
  { method: 'POST', path: '/api/saved/{skill}/webhook', command: 'saved webhook enable', need: 'user', shownOnce: true },
  { method: 'DELETE', path: '/api/saved/{skill}/webhook', command: 'saved webhook disable', need: 'user' },
  { method: 'POST', path: '/api/saved/{skill}/webhook/secret', command: 'saved webhook regenerate', need: 'user', shownOnce: true },
  { method: 'PUT', path: '/api/saved/{skill}/webhook/addresses', command: 'saved webhook allow', need: 'user' },
  { method: 'PUT', path: '/api/saved/{skill}/webhook/signature', command: 'saved webhook require-signature', need: 'user' },
  { method: 'POST', path: '/api/saved/{skill}/webhook/result-key', command: 'saved webhook result-key', need: 'user', shownOnce: true },
  { method: 'GET', path: '/api/runs', command: 'runs list', need: 'user', list: { name: 'runs', row: ['id'] } },
  { method: 'GET', path: '/api/lanes', command: 'runs lanes', need: 'user' },
  { method: 'GET', path: '/api/runs/{run}', command: 'runs show', need: 'user' },
  { method: 'POST', path: '/api/runs/{run}/cancel', command: 'runs cancel', need: 'user' },
  { method: 'GET', path: '/api/tasks', command: 'tasks list', need: 'user', list: { name: 'tasks', row: ['id'] } },
  { method: 'POST', path: '/api/tasks', command: 'tasks submit', need: 'user', ofAgent: true },
  { method: 'GET', path: '/api/tasks/{id}', command: 'tasks show', need: 'user' },
  { method: 'POST', path: '/api/tasks/{id}/cancel', command: 'tasks cancel', need: 'user' },
  { method: 'POST', path: '/api/tasks/{id}/retry', command: 'tasks retry', need: 'user' },
  { method: 'POST', path: '/api/tasks/{id}/review', command: 'tasks review', need: 'approve' },
  {
    method: 'GET',
    path: '/api/schedules',
    command: 'tasks schedules list',
    need: 'user',
    list: { name: 'schedules', row: ['schedule_id'] },
  },
  { method: 'DELETE', path: '/api/schedules/{id}', command: 'tasks schedules cancel', need: 'user' },
  { method: 'GET', path: '/api/jobs', command: 'jobs list', need: 'user', list: { name: 'jobs', row: ['id'] } },
  { method: 'GET', path: '/api/jobs/{id}', command: 'jobs show', need: 'user' },
  { method: 'POST', path: '/api/jobs/{id}/cancel', command: 'jobs cancel', need: 'user', fixed: YES },
  { method: 'POST', path: '/api/jobs/{id}/retry', command: 'jobs retry', need: 'user', fixed: YES },
];

/** The sandbox, its skills and extensions, and what leaves this machine. */
const ADMINISTRATORS: readonly CommandRoute[] = [
  { method: 'GET', path: '/api/agents/{id}', command: 'agents show', need: 'admin' },
  { method: 'GET', path: '/api/agents/{id}/prompt', command: 'agents prompt', need: 'admin' },
  { method: 'GET', path: '/api/all-skills/stats', command: 'skills stats', need: 'admin' },
  { method: 'GET', path: '/api/skills/{id}/stats', command: 'skills stats', need: 'admin' },
  { method: 'GET', path: '/api/all-skills/suggestions', command: 'skills suggest', need: 'admin' },
  { method: 'GET', path: '/api/all-skills/lint', command: 'skills lint', need: 'admin', findings: true },
  { method: 'POST', path: '/api/skills', command: 'skills new', need: 'admin' },
  { method: 'DELETE', path: '/api/skills/{id}', command: 'skills remove', need: 'admin', asks: true },
  { method: 'POST', path: '/api/skills/install', command: 'skills install', need: 'admin', asks: true },
  { method: 'POST', path: '/api/skills/update', command: 'skills update', need: 'admin', asks: true },
  { method: 'POST', path: '/api/skills/evals', command: 'skills eval', need: 'admin', asks: true },
  { method: 'POST', path: '/api/skills/trust', command: 'skills trust', need: 'admin', asks: true },
  { method: 'POST', path: '/api/skills/untrust', command: 'skills untrust', need: 'admin' },
  { method: 'POST', path: '/api/skills/{id}/accept', command: 'skills accept', need: 'admin', asks: true },
  { method: 'POST', path: '/api/skills/{id}/discard', command: 'skills discard', need: 'admin' },
  { method: 'POST', path: '/api/skills/{id}/rollback', command: 'skills rollback', need: 'admin', asks: true },
  { method: 'GET', path: '/api/proposals', command: 'skills proposals list', need: 'admin', list: { name: 'proposals', row: ['id'] } },
  { method: 'GET', path: '/api/all-proposals/counts', command: 'skills proposals count', need: 'admin' },
  { method: 'GET', path: '/api/proposals/{id}', command: 'skills proposals show', need: 'admin' },
  { method: 'GET', path: '/api/proposals/{id}/diff', command: 'skills proposals diff', need: 'admin' },
  { method: 'POST', path: '/api/proposals/{id}/approve', command: 'skills proposals approve', need: 'admin' },
  { method: 'POST', path: '/api/proposals/{id}/reject', command: 'skills proposals reject', need: 'admin' },
  { method: 'POST', path: '/api/proposals/{id}/reopen', command: 'skills proposals reopen', need: 'admin' },
  { method: 'PUT', path: '/api/saved/{skill}/pin', command: 'saved pin', need: 'admin' },
  { method: 'DELETE', path: '/api/saved/{skill}/pin', command: 'saved unpin', need: 'admin' },
  { method: 'PUT', path: '/api/saved/{skill}/lane', command: 'saved set-lane', need: 'admin' },
  { method: 'PUT', path: '/api/saved/{skill}/extended-limits', command: 'saved grant-extended', need: 'admin' },
  { method: 'DELETE', path: '/api/saved/{skill}/extended-limits', command: 'saved revoke-extended', need: 'admin' },
  { method: 'PUT', path: '/api/saved/{skill}/parallel', command: 'saved grant-parallel', need: 'admin' },
  { method: 'DELETE', path: '/api/saved/{skill}/parallel', command: 'saved revoke-parallel', need: 'admin' },
  { method: 'POST', path: '/api/jobs/pause', command: 'jobs pause', need: 'admin' },
  { method: 'POST', path: '/api/jobs/resume', command: 'jobs resume', need: 'admin' },
  { method: 'GET', path: '/api/extensions', command: 'extensions list', need: 'admin', findings: true },
  { method: 'GET', path: '/api/extensions/{id}', command: 'extensions show', need: 'admin', findings: true },
  { method: 'POST', path: '/api/extensions/{id}/reload', command: 'extensions reload', need: 'admin', mayReplace: true },
  { method: 'POST', path: '/api/extensions/{id}/rollback', command: 'extensions rollback', need: 'admin', mayReplace: true },
  { method: 'POST', path: '/api/extensions/{id}/allow', command: 'extensions allow', need: 'admin', asks: true, mayReplace: true },
  { method: 'GET', path: '/api/extensions/{id}/settings', command: 'settings', need: 'admin', ...OF_SETTINGS },
  {
    method: 'PATCH',
    path: '/api/extensions/{id}/settings',
    command: 'settings set',
    need: 'admin',
    above: 'extensions.{id}.',
    mayReplace: true,
  },
  { method: 'GET', path: '/api/extensions/{name}/logs', command: 'logs', need: 'admin' },
  { method: 'GET', path: '/api/logs', command: 'logs', need: 'admin' },
  { method: 'GET', path: '/api/settings', command: 'settings', need: 'admin', ...OF_SETTINGS },
  { method: 'PATCH', path: '/api/settings', command: 'settings set', need: 'admin', mayReplace: true },
  { method: 'POST', path: '/api/restart', command: 'restart', need: 'admin' },
  { method: 'GET', path: '/api/mcp', command: 'mcp', need: 'admin', findings: true },
  { method: 'POST', path: '/api/mcp/{name}/trust', command: 'mcp trust', need: 'admin', asks: true },
  { method: 'POST', path: '/api/mcp/{name}/untrust', command: 'mcp untrust', need: 'admin' },
  { method: 'GET', path: '/api/mcp/skills', command: 'mcp skills', need: 'admin' },
  { method: 'POST', path: '/api/mcp/{server}/skills/trust', command: 'mcp skills trust', need: 'admin', asks: true },
  { method: 'POST', path: '/api/mcp/{server}/skills/untrust', command: 'mcp skills untrust', need: 'admin' },
  { method: 'GET', path: '/api/permissions', command: 'permissions', need: 'admin' },
  { method: 'DELETE', path: '/api/permissions/{number}', command: 'permissions remove', need: 'admin' },
  { method: 'GET', path: '/api/tokens', command: 'tokens list', need: 'admin' },
  { method: 'POST', path: '/api/tokens', command: 'tokens new', need: 'admin', shownOnce: true },
  { method: 'DELETE', path: '/api/tokens/{id}', command: 'tokens revoke', need: 'admin' },
  { method: 'GET', path: '/api/secrets', command: 'secrets list', need: 'admin' },
  { method: 'GET', path: '/api/hooks', command: 'hooks list', need: 'admin' },
  { method: 'GET', path: '/api/doctor', command: 'doctor', need: 'admin', fixed: { all: true }, findings: true },
  { method: 'GET', path: '/api/trace/{id}', command: 'trace', need: 'admin' },
];

export const COMMAND_ROUTES: readonly CommandRoute[] = [...USERS, ...ADMINISTRATORS];
