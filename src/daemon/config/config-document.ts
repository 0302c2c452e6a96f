/**
 * docs/configuration.md, written from the schema: one row a key. A test holds the file to this text, so that it cannot rot.
 */
import { environmentName } from './config.js';
import { configSchema } from './config-schema.js';

interface KeySchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly default: unknown;
  readonly description: string;
}

export function configurationDocument(): string {
  const sections = Object.entries(configSchema.properties).map(([name, section]) => {
    const rows = Object.entries(section.properties as Readonly<Record<string, KeySchema>>).map(
      ([key, schema]) => {
        const dotted = `${name}.${key}`;
        const value = `\`${JSON.stringify(schema.default)}\``;
        return `| \`${dotted}\` | ${value} | ${allowed(schema)} | ${schema.description} | \`${environmentName(dotted)}\` |`;
      },
    );
    const head = '| Key | Default | Allowed | Meaning | Environment |\n|---|---|---|---|---|';
    return `## ${name}\n\n${section.description}\n\n${head}\n${rows.join('\n')}\n`;
  });
  return `# Configuration

Defaults, then the JSON file given with \`--config\`, then the environment, then \`--set section.key=value\`: later wins. The file
holds one object for each section below. Every fault is listed at once, with where it came from. \`SFSD_SOCKET\` is short for
\`socket.path\`.

${sections.join('\n')}`;
}

function allowed(schema: KeySchema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.type === 'array') return `a list, at most ${schema.maxItems}`;
  if (schema.minimum !== undefined) return `${schema.minimum} to ${schema.maximum}`;
  if (schema.type === 'boolean') return '`true`, `false`';
  return schema.pattern === undefined ? 'text' : `text like \`${schema.pattern}\``;
}
