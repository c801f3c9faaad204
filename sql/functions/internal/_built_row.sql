create or replace function loom._built_row(p_org text, p_namespace text, p_user_id text, p_label text) returns loom.memory
language plpgsql volatile
as $$
declare
  v_row loom.memory;
begin
  select * into v_row from loom.memory
  where org = p_org and namespace = p_namespace and memory_key = p_label and user_id = p_user_id
    and session_id = '-' and agent = '-'
  for update;
  return v_row;
end
$$;
comment on function loom._built_row(text, text, text, text) is
  'The row the worker writes for a user at a label, locked, whatever its state; all null when there is none.';
