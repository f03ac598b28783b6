import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { change } from '../parts/confirm.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import type { ApiError } from '../server/api.ts';
import { concerns, useLoaded } from '../server/loaded.ts';

interface Server {
  readonly name: string;
  readonly state: string;
  readonly reason: string | null;
  readonly tools: readonly string[];
  readonly leftOut: readonly string[];
}

interface PublishedSkill {
  readonly server: string;
  readonly uri: string;
  readonly trust: string;
  readonly name: string;
  readonly description: string;
}

/** MCP servers with their tools, and the skills that they publish: used once a person has seen them and agreed. */
export function McpServers(): VNode {
  const [servers, againServers] = useLoaded<readonly Server[]>('/api/mcp', concerns('extension', 'mcp'));
  const [skills, againSkills] = useLoaded<readonly PublishedSkill[]>('/api/mcp/skills', concerns('skill'));
  const error = useSignal<ApiError | null>(null);
  const act = async (path: string, body: object = {}): Promise<void> => {
    error.value = null;
    await change('POST', path, body).catch((wrong: unknown) => (error.value = wrong as ApiError));
    againServers();
    againSkills();
  };
  const list = servers.value.value;
  if (list === null) return <Awaited of={servers.value} />;
  return (
    <>
      <Problem error={error.value} />
      {list.length === 0 && <p class="muted">No MCP servers: name them under extensions.mcp.servers in pith.yaml.</p>}
      <ul class="cards">
        {list.map(({ name, state, reason, tools, leftOut }) => (
          <li key={name}>
            <strong>{name}</strong>
            <span class={`chip ${state === 'connected' ? 'good' : state === 'failed' ? 'bad' : 'warn'}`}>{state}</span>
            {state === 'untrusted' && (
              <button type="button" onClick={() => void act(`/api/mcp/${encodeURIComponent(name)}/trust`)}>
                Review and trust {name}
              </button>
            )}
            {reason !== null && <p class="muted">{reason}</p>}
            {tools.length > 0 && <p>Tools: {tools.join(', ')}</p>}
            {leftOut.map((line) => (
              <p key={line} class="warn">
                Not offered: {line}
              </p>
            ))}
          </li>
        ))}
      </ul>
      {(skills.value.value?.length ?? 0) > 0 && (
        <>
          <h2>Skills of servers</h2>
          <Table label="Skills of servers" columns={['Server', 'Skill', 'State']} action="Use">
            {skills.value.value?.map(({ server, uri, trust, name, description }) => {
              const isUsed = trust === 'trusted';
              const path = `/api/mcp/${encodeURIComponent(server)}/skills/${isUsed ? 'untrust' : 'trust'}`;
              return (
                <tr key={`${server} ${uri}`}>
                  <td>{server}</td>
                  <td>
                    {name} <span class="muted">{description}</span>
                  </td>
                  <td>{trust}</td>
                  <td>
                    <button type="button" class="quiet" onClick={() => void act(path, { uri })}>
                      {isUsed ? `Stop using ${name}` : `Review and trust ${name}`}
                    </button>
                  </td>
                </tr>
              );
            })}
          </Table>
        </>
      )}
    </>
  );
}
