/** What a program needs of what ships; the rest it names. */
export const SHIPPED = ['skill_registry', 'skill_search', 'openai_compatible', 'anthropic', 'offline'];

/** The model without a network, which tells what to do. */
export const LIBRARIAN = 'offline';

/** The tools for skills. */
export const SKILL_TOOLS = 'skill_registry';

/** Agents that call others need it. */
export const DELEGATION = 'delegation';
export const DELEGATION_TOOLS = [`${DELEGATION}/list_agents`, `${DELEGATION}/delegate_task`];
