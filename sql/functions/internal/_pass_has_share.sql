create or replace function loom._pass_has_share(p_kind text, p_at timestamptz) returns boolean
language plpgsql stable
set search_path = loom, pg_temp
as $$
begin
  perform from loom.pass_share as share
  join loom.profile_schema as schema on schema.org = share.org and schema.namespace = share.namespace
  where share.kind = p_kind and share.share_left > 0 and not share.held
    and loom._namespace_due(schema, share.kind, p_at)
  limit 1;
  return found;
end
$$;
comment on function loom._pass_has_share(text, timestamptz) is
  'Whether a namespace that the pass has reached has some of its share left, and a use for it.';
