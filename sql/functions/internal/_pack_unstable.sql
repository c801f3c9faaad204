create or replace function loom._pack_unstable(p_parts jsonb[]) returns jsonb[]
language plpgsql immutable parallel safe
as $$
begin
  return array(
    select case when loom._pack_depends_on_query(part ->> 'name') then part else part - 'text' end
    from unnest(p_parts) with ordinality as told (part, place) order by place);
end
$$;
comment on function loom._pack_unstable(jsonb[]) is
  'What the answer says of its sections where the caller has the stable part: without the text of those.';
