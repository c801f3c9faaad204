create or replace function loom._batch_org(p_request jsonb) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_item jsonb := jsonb_path_query_first(p_request, 'strict $.requests[*] ? (@.org <> null)', '{}', true);
begin
  return loom._identifier(coalesce(v_item, '{}'), 'org');
end
$$;
comment on function loom._batch_org(jsonb) is
  'The org that a batch''s items name, for a batch that names none itself: that of the first item with one.';
