create or replace function loom._pass_places(p_kind text, p_at timestamptz) returns setof loom.pass_share
language plpgsql stable rows 20
as $$
declare
  v_kind loom.work_kind := loom._kind_of_work(p_kind);
begin
  return query
    select share.* from loom.pass_share as share
    cross join lateral loom._work_schema(v_kind, share.org, share.namespace) as schema
    where share.kind = p_kind and share.share_left > 0 and not share.held
      and loom._namespace_due(schema, share.kind, p_at)
    order by share.org, share.namespace;
end
$$;
comment on function loom._pass_places(text, timestamptz) is
  'The namespaces that the pass has reached and that have some of their share left, and a use for it.';
